# A service of our own for tests and measurements: sourced by sh. Nothing it makes outlives service_stop.
#
# service_start BUILD   a folder $SERVICE with policy, keys, socket and log; a helper started by systemd-socket-activate
# service_stop          ends it and removes folder, cgroups and users
# service_user N        makes the ordinary user $TEST_USER_N with a home (1 or 2)
# as_user N COMMAND …   runs a command as that user with YETT_SOCKET set

service_id() { echo "$$"; }

# Each service has its own id ranges, in a place that depends on our pid, below those of an installed one; many sandboxes
# (SERVICE_SANDBOXES, for each user) have a place of their own between the two.
service_policy() {
	first=$((1073741824 + ($$ % 64) * 65536 * 128)) ranges=128
	[ "${SERVICE_SANDBOXES:-64}" -le 64 ] || first=1610612736 ranges=$((SERVICE_SANDBOXES + 128))
	cat <<POLICY
helper {
  runtime_dir = "$SERVICE_RUN"
  keys_dir = "$SERVICE/keys.d"
  cgroup = "/yett-test-$$"
  ids_first = $first
  ids_ranges = $ranges
  spares = ${SERVICE_SPARES:-4}
}
POLICY
	sed "/^# *helper {/d; s/max_sandboxes = 64 /max_sandboxes = ${SERVICE_SANDBOXES:-64} /" "$1/dist/yett.conf"
}

service_start() {
	SERVICE=$(mktemp -d /tmp/yett-test.XXXXXX)
	SERVICE_RUN=/dev/shm/yett-test-$$ # a tmpfs, as /run is where systemd runs
	chmod 755 "$SERVICE"
	mkdir -m 755 "$SERVICE/keys.d"
	service_policy "${SERVICE_ROOT:-$(dirname "$0")/../..}" >"$SERVICE/yett.conf"
	chmod 644 "$SERVICE/yett.conf"
	YETT_SOCKET=$SERVICE/socket
	export YETT_SOCKET
	# A session of its own: a signal that ends all of ours leaves it the time to clean up behind its sandboxes.
	setsid systemd-socket-activate --seqpacket -l "$YETT_SOCKET" "$1/helper/yett-helper" --policy "$SERVICE/yett.conf" \
		>"$SERVICE/log" 2>&1 </dev/null &
	SERVICE_PID=$!
	while [ ! -S "$YETT_SOCKET" ]; do
		kill -0 "$SERVICE_PID" || { cat "$SERVICE/log"; return 1; }
	done
	chmod 666 "$YETT_SOCKET"
}

service_user() {
	name=yett-test-$$-$1
	useradd --create-home --home-dir "$SERVICE/home$1" --shell /bin/sh --user-group "$name"
	chmod 755 "$SERVICE/home$1"
	eval "TEST_USER_$1=$name"
}

as_user() {
	user=$1
	shift
	eval "name=\$TEST_USER_$user"
	(cd "$SERVICE/home$user" && exec setpriv --reuid "$name" --regid "$name" --init-groups env HOME="$SERVICE/home$user" USER="$name" "$@")
}

# The processes of its users first: they hold sandboxes, and users that have processes cannot be removed.
service_end_users() {
	for user in 1 2; do
		eval "name=\${TEST_USER_$user-}"
		n=0
		while [ -n "$name" ] && pkill -KILL -U "$name" && [ $n -lt 100 ]; do
			n=$((n + 1))
			timeout 0.1 tail -f /dev/null || :
		done
	done
}

# Goes on whatever fails, also under `set -e`.
service_stop() {
	service_end_users
	kill "$SERVICE_PID" 2>/dev/null || :
	wait "$SERVICE_PID" 2>/dev/null || :
	# The last supervisors are on their way out.
	for group in /sys/fs/cgroup/*/yett-test-$$ /sys/fs/cgroup/yett-test-$$; do
		[ -d "$group" ] || continue
		n=0
		until find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || [ $n -ge 100 ]; do
			n=$((n + 1))
			timeout 0.1 tail -f /dev/null || :
		done
	done
	for user in 1 2; do
		eval "name=\${TEST_USER_$user-}"
		[ -n "$name" ] || continue
		rm -rf "/tmp/yett-$(id -u "$name")" # where a helper without root keeps its books
		userdel "$name" 2>/dev/null || :
	done
	rm -rf "$SERVICE" "$SERVICE_RUN"
}
