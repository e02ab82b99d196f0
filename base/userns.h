/*
 * The rules of a host by which ordinary users have no user namespaces. user_namespaces(7)
 *
 * Reads files that everybody may read, with the privilege of the caller.
 */
#pragma once

struct userns_rule {
	const char *path;
	char forbids;            /* its first character, then */
	const char *what, *mend; /* for people; the mend is a command for root */
};

/* The first of them that is in force. NULL: none, and what forbids a namespace is something else,
 * such as a container around us. */
const struct userns_rule *userns_find_rule(void);
