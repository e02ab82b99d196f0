/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `yett serve`: serves the operations by HTTP to the user who runs the program.
 *
 * Listens on a Unix socket, from the user's service manager or its own; on request also on TCP at
 * 127.0.0.1. Runs with the caller's privilege.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <systemd/sd-daemon.h>

#include "agent/front.h"
#include "agent/event_log.h"
#include "agent/http/acceptor.h"
#include "agent/manager.h"
#include "agent/mcp/mcp.h"

/* Seconds; only if the service manager created the socket, and so can start the program again. */
#define IDLE_EXIT_S 300
#define REQUEST_S   30
#define URL_SIZE    128

struct serve {
	struct agent *agent;
	const char *socket_path, *token_path;
	long port, request_s, idle_exit_s; /* -1: not given */
	struct entry entry;
	struct access access;
	struct manager *manager;
	struct mcp *mcp;
	struct server *server;
};

static const struct option options[] = {
	{"listen", required_argument, NULL, 's'},
	{"port", required_argument, NULL, 'p'},
	{"token-file", required_argument, NULL, 't'},
	{"request-time", required_argument, NULL, 'r'},
	{"idle-exit", required_argument, NULL, 'i'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static void http_serve_print_usage(FILE *to)
{
	(void)fputs(
		"Usage: yett serve [--listen PATH] [--port N] [--token-file PATH] [--request-time SECONDS]\n"
		"                  [--idle-exit SECONDS]\n\n"
		"Serves the operations over HTTP to your programs, and a web page to your browser, until a signal ends the server.\n\n"
		"      --listen PATH       listen on this Unix socket, which only you can use; default without --port: that of the service\n"
		"                          manager, or $XDG_RUNTIME_DIR/yett/serve.sock\n"
		"      --port N            also listen on port N of 127.0.0.1; 0: the kernel chooses. Clients of the port need a token;\n"
		"                          the printed URL lets one browser in\n"
		"      --token-file PATH   where that token is written to; without it $XDG_RUNTIME_DIR/yett/serve.token\n"
		"      --request-time SECONDS\n"
		"                          how long a request and its body may take to arrive; default 30\n"
		"      --idle-exit SECONDS end after so long without a connection or a running program; 0: never. If the service manager\n"
		"                          started the server, default 300\n\n"
		"SIGUSR1 prints another URL.\n",
		to);
}

/* Returns -1 if `text` is not a number from 0 to `most`. */
static long http_serve_read_number(const char *text, long most)
{
	char *end;
	long number;

	errno = 0;
	number = strtol(text, &end, 10);
	return end == text || *end || errno || number < 0 || number > most ? -1 : number;
}

/* Returns -1 to go on, else the exit status. */
static int http_serve_read_options(struct serve *serve, int argc, char **argv)
{
	int c;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (c) {
		case 's':
			serve->socket_path = optarg;
			break;
		case 't':
			serve->token_path = optarg;
			break;
		case 'p':
			if ((serve->port = http_serve_read_number(optarg, UINT16_MAX)) < 0) {
				(void)fprintf(
					stderr,
					"yett serve: --port: expected a number from 0 to 65535\n");
				return FRONT_USAGE;
			}
			break;
		case 'r':
			if ((serve->request_s = http_serve_read_number(optarg, 3600)) < 1) {
				(void)fprintf(
					stderr,
					"yett serve: --request-time: expected a number of seconds, at most 3600\n");
				return FRONT_USAGE;
			}
			break;
		case 'i':
			if ((serve->idle_exit_s = http_serve_read_number(optarg, 86400 * 30)) < 0) {
				(void)fprintf(
					stderr,
					"yett serve: --idle-exit: expected a number of seconds\n");
				return FRONT_USAGE;
			}
			break;
		case 'h':
			http_serve_print_usage(stdout);
			return 0;
		default:
			return FRONT_USAGE;
		}
	}
	if (optind < argc) {
		(void)fprintf(stderr, "yett serve: it takes no operand, but got %s\n",
		              argv[optind]);
		return FRONT_USAGE;
	}
	return -1;
}

/* --- listening -------------------------------------------------------------------------------- */

static int listen_unix(struct serve *serve, struct yett_error *error)
{
	_cleanup_free_ char *usual = NULL;
	int r = entry_take(&serve->entry, error);

	if (r != 0 || (serve->entry.is_activated && !serve->socket_path))
		return r;
	if (serve->socket_path)
		return entry_listen(&serve->entry, serve->socket_path, error);
	if (serve->port >= 0)
		return 0;
	if (!(usual = entry_runtime_path("serve.sock", error)))
		return (int)error->code;
	return entry_listen(&serve->entry, usual, error);
}

static int listen_tcp(struct serve *serve, struct yett_error *error)
{
	_cleanup_free_ char *usual = NULL;
	int r;

	if ((r = entry_listen_tcp(&serve->entry, (uint16_t)serve->port, error)) != 0)
		return r;
	access_init(&serve->access, getuid(), serve->entry.port);
	if (!serve->token_path && !(usual = entry_runtime_path("serve.token", error)))
		return (int)error->code;
	return entry_write_token(&serve->entry, serve->token_path ? serve->token_path : usual,
	                         serve->access.token, error);
}

static void print_url(struct serve *serve)
{
	char url[URL_SIZE];

	if (serve->entry.port) {
		access_make_url(&serve->access, url, sizeof url);
		(void)printf("Open %s\n", url);
	}
	(void)fflush(stdout);
}

static void print_places(struct serve *serve)
{
	if (serve->entry.socket_path)
		(void)printf("Listening at %s\n", serve->entry.socket_path);
	if (serve->entry.port)
		(void)printf("Listening at http://127.0.0.1:%u, with the token in %s\n",
		             serve->entry.port, serve->entry.token_path);
	print_url(serve);
}

/* --- running ---------------------------------------------------------------------------------- */

static int on_user_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *data)
{
	(void)source;
	(void)info;
	print_url(data);
	return 0;
}

/* SIGTERM, SIGINT and SIGHUP end the loop; SIGUSR1 prints a new URL. */
static int http_serve_take_signals(struct serve *serve)
{
	sigset_t signals;
	int r = agent_watch_signals(serve->agent, &signals, NULL, NULL);

	if (r < 0)
		return r;
	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGUSR1);
	if (sigprocmask(SIG_BLOCK, &signals, NULL) < 0)
		return -errno;
	return sd_event_add_signal(serve->agent->loop, NULL, SIGUSR1, on_user_signal, serve);
}

static int http_serve_begin(struct serve *serve, struct yett_error *error)
{
	struct server_options settings = {0};
	struct yett_error ignored;
	int r;

	serve->access = (struct access){.uid = getuid()};
	if ((r = listen_unix(serve, error)) != 0 ||
	    (serve->port >= 0 && (r = listen_tcp(serve, error)) != 0))
		return r;
	if (serve->idle_exit_s < 0)
		serve->idle_exit_s = serve->entry.is_activated ? IDLE_EXIT_S : 0;
	serve->manager = manager_new(serve->agent);
	serve->mcp = mcp_new(serve->agent);
	if (!serve->manager || !serve->mcp || http_serve_take_signals(serve) < 0)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "no memory for the server");
	settings = (struct server_options){.manager = serve->manager,
	                                   .mcp = serve->mcp,
	                                   .request_ms = (uint64_t)serve->request_s * 1000,
	                                   .idle_exit_ms = (uint64_t)serve->idle_exit_s * 1000};
	/* Ignore failures: without the helper there are no sandboxes to follow. */
	(void)!event_log_follow_all(serve->agent, &ignored);
	return acceptor_start(serve->agent, &serve->entry, &serve->access, &settings,
	                      &serve->server, error);
}

static void http_serve_end(struct serve *serve)
{
	acceptor_stop(serve->server);
	mcp_free(serve->mcp);
	manager_free(serve->manager);
	entry_close(&serve->entry);
	explicit_bzero(&serve->access, sizeof serve->access);
}

int serve_main(struct agent *agent, int argc, char **argv)
{
	struct serve serve = {
		.agent = agent, .port = -1, .request_s = REQUEST_S, .idle_exit_s = -1};
	struct yett_error error;
	int r = http_serve_read_options(&serve, argc, argv);

	if (r >= 0)
		return r;
	r = http_serve_begin(&serve, &error);
	if (r != 0) {
		(void)fprintf(stderr, "yett serve: %s%s%s\n", error.message,
		              *error.detail ? ": " : "", error.detail);
	} else {
		print_places(&serve);
		(void)sd_notify(0, "READY=1");
		r = sd_event_loop(agent->loop);
		(void)sd_notify(0, "STOPPING=1");
		if (r < 0)
			(void)fprintf(stderr, "yett serve: cannot go on: %s\n", strerror(-r));
	}
	http_serve_end(&serve);
	return r != 0;
}
