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

# The sandboxes of the caller, by id and name, in `reply`. A helper that does not answer is not waited for.
_yett_find_sandboxes()
{
	reply=(${(f)"$(timeout 2 yett ps 2>/dev/null </dev/null | awk 'NR > 1 { if ($1 != "-") print $1; if ($2 != "-") print $2 }')"})
}

_yett_sandboxes()
{
	local -a reply
	_yett_find_sandboxes
	compadd -a reply
}

# What copy-on-write sandboxes have left, by the ids of stores and by what these sandboxes are or were called.
_yett_stores()
{
	local -a names=(${(f)"$(yett work list 2>/dev/null </dev/null | awk 'NR > 1 { print $1; if ($2 != "-") print $2 }')"})
	compadd -a names
}

_yett_insides()
{
	local -a reply
	_yett_find_sandboxes
	compadd -S '' -- $^reply:/
}

_yett_places()
{
	_files
	_yett_insides
}

# The commands of the sandbox that stands before them.
_yett_command_ids()
{
	local -a reply ids
	local word
	_yett_find_sandboxes
	for word in $words[2,CURRENT-1]; do
		((${reply[(Ie)$word]})) || continue
		ids=(${(f)"$(timeout 2 yett ps --quiet -- $word 2>/dev/null </dev/null)"})
		compadd -a ids
		return
	done
}

_yett_principals()
{
	local policy=@POLICY@
	local -a names=(${policy:h}/keys.d/*.pub(N:t:r))
	compadd -a names
}

# An enrolled one by its name, or the file of one.
_yett_keys()
{
	_yett_principals
	_files
}

_yett_filters()
{
	compadd -S '' -- state= name= profile= label=
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
