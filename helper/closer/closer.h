/*
 * What the listener and yett-closer say to each other. A packet is a byte (enum closer_reason) with the connection that it is about; a
 * byte without one follows when the listener has closed its own.
 */
#pragma once

enum closer_reason {
	CLOSER_HUNG_UP = 1, /* nobody is there to be told */
	CLOSER_FULL,
	CLOSER_USER_FULL,
	CLOSER_TOO_OFTEN,
	CLOSER_CONFINED,
	CLOSER_NO_PROCESS,
};
