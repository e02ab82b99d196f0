/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `yett top`: shows the sandboxes with their usage on a full screen, with keys to pause and resume
 * them and to kill their commands.
 *
 * Runs as the caller, on the public libyett and ncurses. The terminal is restored however the
 * process ends (terminal.h).
 *
 * Names of sandboxes contain only letters, digits and marks, so they are printed
 * unescaped.
 */
#include "cli/sandboxes/manage.h"
#include "cli/subcommands.h"

#include <curses.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cli/connect.h"
#include "cli/output.h"
#include "cli/sandboxes/top_rows.h"
#include "cli/terminal.h"

#define INTERVAL_MS   1000
#define LIST_TOP      4 /* the line of the first row */
#define PLOT_WIDTH    8 /* width of a plot in the list */
#define KEY_CONTROL_C 3
#define KEY_CONTROL_L 12

struct top {
	struct connect_choice connect;
	struct yett_connection *connection; /* NULL: the helper cannot be reached */
	struct top_rows rows;
	/* `is_asking`: the user is asked whether to kill the commands of the sandbox `asked`. */
	bool all, is_unicode, is_asking;
	char asked[YETT_ID_SIZE], asked_name[YETT_NAME_SIZE];
	char message[YETT_NAME_SIZE + 256];
	size_t first; /* the first visible row */
};

/* Prints in the columns [column, column + width), if the screen has them. */
static void top_put(int line, int column, int width, const char *text)
{
	if (line < LINES && column + width <= COLS)
		(void)mvaddstr(line, column, text);
}

static void put_right(int line, int column, int width, const char *text)
{
	char padded[64];

	(void)snprintf(padded, sizeof padded, "%*s", width, text);
	top_put(line, column, width, padded);
}

static void percent_text(double percent, char out[STATS_TEXT_SIZE])
{
	if (percent < 0)
		(void)snprintf(out, STATS_TEXT_SIZE, "-");
	else
		(void)snprintf(out, STATS_TEXT_SIZE, percent < 1000 ? "%.1f" : "%.0f", percent);
}

static void draw_head(const struct top *top)
{
	const struct top_rows *rows = &top->rows;
	int width = COLS / 2 - 18;
	char plot[TOP_HISTORY * 3 + 1], text[64], value[STATS_TEXT_SIZE];
	size_t paused = 0;
	time_t now = time(NULL);
	struct tm parts;

	for (size_t i = 0; i < rows->count; i++)
		paused += rows->rows[i].usage.state == YETT_STATE_PAUSED;
	(void)snprintf(text, sizeof text, "yett top - %zu sandbox%s, %zu paused", rows->count,
	               rows->count == 1 ? "" : "es", paused);
	top_put(0, 0, (int)strlen(text), text);
	if (localtime_r(&now, &parts) && strftime(text, sizeof text, "%H:%M:%S", &parts) > 0)
		top_put(0, COLS - 9, 8, text);
	if (width < 4 || rows->cpu.count == 0)
		return;
	width = width > TOP_HISTORY ? TOP_HISTORY : width;
	percent_text(rows->cpu.values[rows->cpu.count - 1], value);
	(void)snprintf(text, sizeof text, "CPU %6s%% ", value);
	top_put(1, 0, 12, text);
	top_plot(&rows->cpu, (size_t)width, 0, top->is_unicode, plot, sizeof plot);
	top_put(1, 12, width, plot);
	stats_size(value, true, (uint64_t)rows->memory.values[rows->memory.count - 1]);
	(void)snprintf(text, sizeof text, "MEMORY %6s ", value);
	top_put(1, COLS / 2, 14, text);
	top_plot(&rows->memory, (size_t)width, 0, top->is_unicode, plot, sizeof plot);
	top_put(1, COLS / 2 + 14, width, plot);
}

static void draw_row(const struct top *top, int line, const struct top_row *row)
{
	const struct yett_usage *u = &row->usage;
	char plot[PLOT_WIDTH * 3 + 8], text[STATS_TEXT_SIZE];
	double limit = (double)u->memory_limit_bytes;

	top_put(line, 0, 16, "");
	(void)snprintf(plot, sizeof plot, "%-16.16s", *u->name ? u->name : u->id);
	top_put(line, 0, 16, plot);
	(void)snprintf(plot, sizeof plot, "%-7.7s", yett_state_name(u->state));
	top_put(line, 17, 7, plot);
	percent_text(row->cpu.values[row->cpu.count - 1], text);
	put_right(line, 25, 6, text);
	top_plot(&row->cpu, PLOT_WIDTH, 0, top->is_unicode, plot, sizeof plot);
	top_put(line, 32, PLOT_WIDTH, plot);
	stats_size(text, u->known & YETT_USAGE_MEMORY, u->memory_bytes);
	put_right(line, 41, 6, text);
	if (top->all)
		(void)snprintf(text, sizeof text, "%u", row->uid);
	else
		percent_text(stats_memory_percent(u), text);
	put_right(line, 48, 6, text);
	/* The plot is relative to the limit or, without a limit, to the largest value. */
	top_plot(&row->memory, PLOT_WIDTH, limit, top->is_unicode, plot, sizeof plot);
	top_put(line, 55, PLOT_WIDTH, plot);
	(void)snprintf(text, sizeof text, "%llu", (unsigned long long)u->processes);
	put_right(line, 64, 5, text);
	stats_time(text, true, u->uptime_ms);
	put_right(line, 70, 8, text);
	if (!(u->known & YETT_USAGE_CONNECTIONS))
		return;
	(void)snprintf(text, sizeof text, "%llu", (unsigned long long)u->connections);
	put_right(line, 81, 5, text);
	stats_size(text, true, u->sent_bytes);
	put_right(line, 87, 6, text);
	stats_size(text, true, u->received_bytes);
	put_right(line, 94, 6, text);
}

static void draw_list(struct top *top)
{
	size_t selected = top_rows_selected(&top->rows),
	       room = LINES > LIST_TOP + 1 ? (size_t)(LINES - LIST_TOP - 1) : 1;

	(void)attron(A_REVERSE);
	(void)mvhline(LIST_TOP - 1, 0, ' ', COLS);
	top_put(LIST_TOP - 1, 0, 23, "SANDBOX          STATE");
	top_put(LIST_TOP - 1, 25, 6, "  CPU%");
	top_put(LIST_TOP - 1, 32, 15, "         MEMORY");
	top_put(LIST_TOP - 1, 48, 6, top->all ? "   UID" : "  MEM%");
	top_put(LIST_TOP - 1, 64, 14, "PROCS       UP");
	top_put(LIST_TOP - 1, 81, 19, "CONNS   SENT   RECV"); /* only on a wide screen */
	(void)attroff(A_REVERSE);
	if (selected < top->first)
		top->first = selected;
	if (selected >= top->first + room)
		top->first = selected - room + 1;
	if (top->first + room > top->rows.count)
		top->first = top->rows.count > room ? top->rows.count - room : 0;
	for (size_t i = top->first; i < top->rows.count && i < top->first + room; i++) {
		int line = LIST_TOP + (int)(i - top->first);

		if (i == selected)
			(void)attron(A_BOLD);
		top_put(line, 79, 1, i == selected ? "<" : " ");
		draw_row(top, line, &top->rows.rows[i]);
		if (i == selected)
			(void)attroff(A_BOLD);
	}
}

static void draw(struct top *top)
{
	const char *keys = "q quit   arrows select   p pause   r resume   k kill commands";

	(void)erase();
	draw_head(top);
	draw_list(top);
	(void)mvaddnstr(LINES - 1, 0, *top->message ? top->message : keys, COLS - 1);
	(void)refresh();
}

static void top_say(struct top *top, const char *what, const char *name)
{
	(void)snprintf(top->message, sizeof top->message, "%s%s", what, name);
}

/* Finds the user of each running sandbox, which its usage does not contain. */
static int read_uids(const struct top *top, const struct yett_usage *list, size_t count,
                     uint32_t *uids, struct yett_error *error)
{
	struct yett_sandbox_list *known = NULL;
	int r = yett_sandboxes_list(top->connection, YETT_LIST_ALL, &known, error);

	for (size_t j = 0; r == 0 && j < yett_sandbox_list_count(known); j++) {
		const struct yett_sandbox_status *status = yett_sandbox_list_get(known, j);

		for (size_t i = 0; i < count; i++)
			if (strcmp(list[i].id, status->info->id) == 0)
				uids[i] = status->uid;
	}
	yett_free(known);
	return r;
}

/* Reads the usage. If the helper cannot be reached, tries again at the next interval. */
static void read_usage(struct top *top)
{
	_cleanup_free_ struct yett_usage *list = NULL;
	_cleanup_free_ uint32_t *uids = NULL;
	struct yett_error error = {0};
	size_t count = 0;
	int r = top->connection ? 0
	                        : connect_with_key(&top->connect, false, &top->connection, &error);

	if (r == 0)
		r = stats_read_all(top->connection, top->all, &list, &count, &error);
	if (r == 0)
		uids = calloc(count + 1, sizeof *uids);
	if (r == 0 && uids && top->all)
		r = read_uids(top, list, count, uids, &error);
	if (r == 0 && uids)
		r = top_rows_take(&top->rows, list, uids, count, &error);
	if (r == 0)
		return;
	top_say(top, error.message, "");
	yett_connection_close(top->connection);
	top->connection = NULL;
}

/* Acts by id: the name may belong to another user's sandbox, or meanwhile to a newer one. */
static void top_act(struct top *top,
                    int (*action)(struct yett_connection *, const char *, struct yett_error *),
                    const char *id, const char *done, const char *name)
{
	struct yett_error error = {0};

	if (!top->connection || action(top->connection, id, &error) != 0)
		top_say(top, *error.message ? error.message : "the helper is not there", "");
	else
		top_say(top, done, name);
}

static void handle_choice(struct top *top, int key)
{
	const struct yett_usage *u;
	const char *name;

	if (top->rows.count == 0)
		return;
	u = &top->rows.rows[top_rows_selected(&top->rows)].usage;
	name = *u->name ? u->name : u->id;
	if (key == 'p')
		top_act(top, yett_sandbox_pause, u->id, "paused ", name);
	if (key == 'r')
		top_act(top, yett_sandbox_resume, u->id, "resumed ", name);
	if (key != 'k')
		return;
	top->is_asking = true;
	memcpy(top->asked, u->id, sizeof top->asked);
	(void)snprintf(top->asked_name, sizeof top->asked_name, "%s", name);
	(void)snprintf(top->message, sizeof top->message, "kill every command of %s? y or n", name);
}

/* Returns false if the user quits. */
static bool handle_key(struct top *top, int key)
{
	if (key == ERR || key == KEY_RESIZE)
		return true;
	top->message[0] = '\0';
	if (top->is_asking) {
		top->is_asking = false;
		if (key == 'y')
			top_act(top, yett_sandbox_kill, top->asked, "killed every command of ",
			        top->asked_name);
		return true;
	}
	switch (key) {
	case 'q':
	case KEY_CONTROL_C:
		return false;
	case KEY_UP:
		top_rows_move(&top->rows, -1);
		break;
	case KEY_DOWN:
		top_rows_move(&top->rows, 1);
		break;
	case KEY_PPAGE:
		top_rows_move(&top->rows, LIST_TOP + 1 - LINES);
		break;
	case KEY_NPAGE:
		top_rows_move(&top->rows, LINES - LIST_TOP - 1);
		break;
	case KEY_CONTROL_L:
		(void)clearok(curscr, TRUE);
		break;
	default:
		handle_choice(top, key);
	}
	return true;
}

static void top_run(struct top *top)
{
	uint64_t next = 0;
	bool goes_on = true;

	while (goes_on) {
		uint64_t now = clock_now_ms();

		if (now >= next) {
			read_usage(top);
			next = now + INTERVAL_MS;
		}
		draw(top);
		now = clock_now_ms();
		timeout(now < next ? (int)(next - now) : 0);
		goes_on = handle_key(top, getch());
	}
}

/*
 * Sets raw mode and starts the watcher before newterm(3), so that ncurses saves and restores the
 * raw modes, and the watcher recognizes them.
 */
static int run_on_screen(struct top *top, struct yett_error *error)
{
	struct terminal terminal;
	int r = terminal_open(&terminal, STDIN_FILENO, error);
	SCREEN *screen;

	if (r == 0)
		r = terminal_make_raw(&terminal, error);
	if (r)
		return r;
	screen = newterm(NULL, stdout, stdin);
	if (screen) {
		(void)raw();
		(void)noecho();
		(void)nonl();
		(void)keypad(stdscr, TRUE);
		(void)curs_set(0);
		top_run(top);
		(void)endwin();
		delscreen(screen);
	} else {
		r = error_set(
			error, YETT_E_UNSUPPORTED, YETT_R_NONE,
			"top knows no terminal of the kind that TERM names: set TERM, or use yett stats --watch");
	}
	terminal_close(&terminal);
	return r;
}

int top_main(const struct subcommand *self, int argc, char **argv)
{
	struct manage_run_options options = {0};
	struct top top = {.all = geteuid() == 0};
	struct yett_error error = {0};
	int first, r = manage_begin(self, argc, argv, &options, &first, &top.connection);

	if (r >= 0)
		return r;
	top.connect = options.connect;
	(void)signal(SIGPIPE, SIG_IGN);
	(void)setlocale(LC_CTYPE, "");
	top.is_unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	if (output_json())
		r = error_set(&error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		              "top draws on a terminal; yett stats --watch is for programs");
	else if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
		r = run_on_screen(&top, &error);
	else
		r = error_set(&error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		              "top needs a terminal; yett stats --watch prints lines");
	top_rows_free(&top.rows);
	return manage_finish(top.connection, r, &error);
}
