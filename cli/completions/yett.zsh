#compdef yett
# Completions of yett @VERSION@ for zsh. The functions that list options are generated from the tables of yett itself.

@TABLES@

# The profiles that the policy names, without asking the helper.
_yett_profiles()
{
	local policy=@POLICY@
	local -a names=(${(f)"$(cat $policy ${policy:h}/conf.d/*.conf(N) 2>/dev/null | sed -n 's/^[[:space:]]*profile[[:space:]]*"\([^"]*\)".*/\1/p')"})
	compadd -a names
}

# The command that a sandbox is to run, by completions of its own.
_yett_command()
{
	if [[ $words[1] == -- ]] && ((CURRENT > 1)); then
		shift words
		((CURRENT--))
	fi
	_normal
}

_yett()
{
	local curcontext=$curcontext

	if ((CURRENT == 2)); then
		if [[ $words[CURRENT] == -* ]]; then
			compadd -- --help --version
		else
			_yett_subcommands
		fi
		return
	fi
	shift words
	((CURRENT--))
	curcontext=${curcontext%:*:*}:yett-$words[1]:
	_yett_arguments $words[1]
}

_yett "$@"
