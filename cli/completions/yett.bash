# Completions of yett @VERSION@ for bash. The functions that list options are generated from the tables of yett itself.

@TABLES@

# The profiles that the policy names, without asking the helper.
_yett_profiles()
{
	cat @POLICY@ "$(dirname @POLICY@)"/conf.d/*.conf 2>/dev/null | sed -n 's/^[[:space:]]*profile[[:space:]]*"\([^"]*\)".*/\1/p'
}

# The sandboxes of the caller, by id and name. A helper that does not answer is not waited for.
_yett_sandboxes()
{
	timeout 2 yett ps 2>/dev/null </dev/null | awk 'NR > 1 { if ($1 != "-") print $1; if ($2 != "-") print $2 }'
}

# What copy-on-write sandboxes have left, by the ids of stores and by what these sandboxes are or were called.
_yett_stores()
{
	yett work list 2>/dev/null </dev/null | awk 'NR > 1 { print $1; if ($2 != "-") print $2 }'
}

_yett_insides()
{
	_yett_sandboxes | sed 's,$,:/,'
}

# The commands of a sandbox: _yett_command_ids SANDBOX
_yett_command_ids()
{
	timeout 2 yett ps --quiet -- "$1" 2>/dev/null </dev/null
}

_yett_principals()
{
	(cd "$(dirname @POLICY@)"/keys.d 2>/dev/null && printf '%s\n' *.pub | sed -n 's/\.pub$//p' | grep -vFx '*')
}

# Completes a word by its kind: _yett_reply KIND WORD [SANDBOX]
_yett_reply()
{
	case $1 in
	file) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$2") ;;
	directory) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$2") ;;
	profile) mapfile -t COMPREPLY < <(compgen -W "$(_yett_profiles)" -- "$2") ;;
	sandbox) mapfile -t COMPREPLY < <(compgen -W "$(_yett_sandboxes)" -- "$2") ;;
	store) mapfile -t COMPREPLY < <(compgen -W "$(_yett_stores)" -- "$2") ;;
	command-id) mapfile -t COMPREPLY < <(compgen -W "$(_yett_command_ids "$3")" -- "$2") ;;
	inside) compopt -o nospace; mapfile -t COMPREPLY < <(compgen -W "$(_yett_insides)" -- "$2") ;;
	place)
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -f -- "$2")
		local insides
		mapfile -t insides < <(compgen -W "$(_yett_insides)" -- "$2")
		# with a slash at its end it would be quoted and closed as a name of a file
		((${#insides[@]} == 0)) || { compopt -o nospace +o filenames; COMPREPLY+=("${insides[@]}"); }
		;;
	principal) mapfile -t COMPREPLY < <(compgen -W "$(_yett_principals)" -- "$2") ;;
	key) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -W "$(_yett_principals)" -- "$2"; compgen -f -- "$2") ;;
	user) mapfile -t COMPREPLY < <(compgen -u -- "$2") ;;
	filter) compopt -o nospace; mapfile -t COMPREPLY < <(compgen -W "state= name= profile= label=" -- "$2") ;;
	subcommand) mapfile -t COMPREPLY < <(compgen -W "$(_yett_subcommands)" -- "$2") ;;
	word\ *) local words=${1#word }; mapfile -t COMPREPLY < <(compgen -W "${words//|/ }" -- "$2") ;;
	esac
}

# The command that stands from word AT on, by completions of its own where bash-completion is there: _yett_command AT WORD
_yett_command()
{
	if declare -F _command_offset >/dev/null; then
		_command_offset "$1"
	elif ((COMP_CWORD == $1)) && [[ $2 != */* ]]; then
		mapfile -t COMPREPLY < <(compgen -c -- "$2" | sort -u)
	else
		_yett_reply file "$2"
	fi
}

_yett()
{
	local word=${COMP_WORDS[COMP_CWORD]} subcommand=${COMP_WORDS[1]} kind at operand=1 options=yes sandbox=

	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		mapfile -t COMPREPLY < <(compgen -W "$(_yett_subcommands) --help --version" -- "$word")
		return
	fi
	# "=" and ":" are words of their own here, and a cursor behind one is at the beginning of the next.
	[[ $word == [=:] ]] && word=
	for ((at = 2; at < COMP_CWORD; at++)); do
		kind=
		if [[ ${COMP_WORDS[at]} == -- && ($options == yes || $(_yett_operand "$subcommand" $operand) == command) ]]; then
			options=
			continue
		elif [[ $options == yes && ${COMP_WORDS[at]} == -?* ]]; then
			kind=$(_yett_value "$subcommand" "${COMP_WORDS[at]}")
			[[ $kind ]] || continue
			at=$((at + 1))
			[[ ${COMP_WORDS[at]} == = ]] && ((at < COMP_CWORD)) && at=$((at + 1))
			if ((at >= COMP_CWORD)); then
				_yett_reply "$kind" "$word"
				return
			fi
		elif [[ $(_yett_operand "$subcommand" $operand) == command ]]; then
			_yett_command "$at" "$word"
			return
		else
			((operand > 1)) || sandbox=${COMP_WORDS[at]}
			operand=$((operand + 1)) options=
		fi
		# PATH:TARGET and NAME=VALUE: what follows the sign is of the inside, or anything.
		while ((at < COMP_CWORD)) && [[ ${COMP_WORDS[at + 1]} == [=:] ]]; do
			((at + 2 < COMP_CWORD)) || return
			at=$((at + 2))
		done
	done
	if [[ $options == yes && $word == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_yett_options "$subcommand")" -- "$word")
		return
	fi
	kind=$(_yett_operand "$subcommand" $operand)
	if [[ $kind == command ]]; then
		_yett_command "$COMP_CWORD" "$word"
	else
		_yett_reply "$kind" "$word" "$sandbox"
	fi
}

complete -F _yett yett
