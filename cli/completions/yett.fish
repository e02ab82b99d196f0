# Completions of yett @VERSION@ for fish. What lists options is generated from the tables of yett itself.

# The profiles that the policy names, without asking the helper.
function __yett_profiles
	set -l folder (string replace -r '/[^/]*$' '' @POLICY@)
	set -l files @POLICY@ $folder/conf.d/*.conf
	cat $files 2>/dev/null | string replace -rf '^\s*profile\s*"([^"]*)".*' '$1'
end

# The sandboxes of the caller, by id and name. A helper that does not answer is not waited for.
function __yett_sandboxes
	timeout 2 yett ps 2>/dev/null </dev/null | awk 'NR > 1 { if ($1 != "-") print $1; if ($2 != "-") print $2 }'
end

# What copy-on-write sandboxes have left, by the ids of stores and by what these sandboxes are or were called.
function __yett_stores
	yett work list 2>/dev/null </dev/null | awk 'NR > 1 { print $1; if ($2 != "-") print $2 }'
end

function __yett_insides
	__yett_sandboxes | string replace -r '$' ':/'
end

# The commands of the sandbox that stands before them.
function __yett_command_ids
	set -l words (__yett_operands)
	timeout 2 yett ps --quiet -- $words[2] 2>/dev/null </dev/null
end

function __yett_principals
	set -l folder (string replace -r '/[^/]*$' '' @POLICY@)
	for file in $folder/keys.d/*.pub
		string replace -r '^.*/(.*)\.pub$' '$1' $file
	end
end

# The words before the cursor without options, their values and "yett" itself: the subcommand, then operands.
function __yett_operands
	set -l words (commandline -opc)
	set -e words[1]
	set -q words[1]; or return
	set -l subcommand $words[1]
	echo $subcommand
	set -e words[1]
	while set -q words[1]
		switch $words[1]
			case --
				set -e words[1]
				printf '%s\n' -- $words
				return
			case '-?*'
				__yett_takes $subcommand $words[1]; and set -e words[1]
				set -e words[1]
			case '*'
				printf '%s\n' $words
				return
		end
	end
end

# Whether the cursor is at SUBCOMMAND, among its options; or at operand N of it; or there or at a later one: SUBCOMMAND [N [more]]
function __yett_in
	set -l words (__yett_operands)
	test "$words[1]" = "$argv[1]"; or return
	set -e words[1]
	if not set -q argv[2]
		not set -q words[1]
		return
	end
	set -l dashes (contains -i -- -- $words); and set -e words[$dashes]
	set -l at (math (count $words) + 1)
	test $at -eq $argv[2]; or begin
		test "$argv[3]" = more; and test $at -ge $argv[2]
	end
end

# The command that a sandbox is to run, which is operand N, by completions of its own: __yett_command N
function __yett_command
	set -l words (__yett_operands)
	set -l count $argv[1]
	set -l dashes (contains -i -- -- $words)
	test -n "$dashes"; and test $dashes -le (math $count + 1); and set -e words[$dashes]
	set -e words[1..$count]
	if test -n "$dashes"
		# no option of ours can follow
	else if not set -q words[1]; and string match -q -- '-*' (commandline -ct)
		return # an option of ours
	end
	complete --do-complete=(string join ' ' -- (string escape -- $words) (commandline -ct))
end

complete -c yett -f
complete -c yett -n 'not __yett_operands >/dev/null; or test -z "$(__yett_operands)"' -xa '(__yett_subcommands)'
complete -c yett -n 'test -z "$(__yett_operands)"' -l help -d 'show help'
complete -c yett -n 'test -z "$(__yett_operands)"' -l version -d 'show the version'

@TABLES@
