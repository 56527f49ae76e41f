/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON carries UTF-8 only, while process names and driver texts may be any bytes, and a text that
 * was cut to a buffer may end in half a character. Such texts are cleaned where they come in.
 */
#ifndef BH_BASE_UTF8_H
#define BH_BASE_UTF8_H

/**
 * bh_utf8_clean() - make a text fit for JSON and for a terminal, in place
 * @text: NUL-terminated; control characters and bytes that are not UTF-8 become '?'
 */
void bh_utf8_clean(char *text);

#endif
