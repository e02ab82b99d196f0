/*
 * What somebody meant who wrote a word that is not known: the nearest of those that are.
 *
 * Pure.
 */
#pragma once

#include <stddef.h>

/* The nearest of names[0 … count), or one that begins with `word`; NULL when none is near. */
const char *near_word(const char *word, const char *const *names, size_t count);
