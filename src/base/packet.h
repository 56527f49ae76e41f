/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One packet of a SOCK_SEQPACKET socket is one JSON object of at most 128 KiB: the form in which a
 * parent and its worker talk. Both ends take the other for hostile: what is longer, is no object,
 * or names a member twice is malformed, and being told so is the caller's only surprise.
 */
#ifndef BH_BASE_PACKET_H
#define BH_BASE_PACKET_H

#include "base/json.h"

#define BH_PACKET_MAX_BYTES (128u * 1024)

enum bh_packet_result {
	BH_PACKET_NONE = 1,	 /* non-blocking socket, nothing there */
	BH_PACKET_END = 2,	 /* the other end is closed, or sent an empty packet */
	BH_PACKET_MALFORMED = 3, /* taken off the socket; @err says what was wrong with it */
};

/**
 * bh_packet_pair() - make the two ends
 * @ret_ours:   owned by the caller; close-on-exec, non-blocking
 * @ret_theirs: owned by the caller; close-on-exec, blocking
 * @err:        filled on failure
 */
int bh_packet_pair(int *ret_ours, int *ret_theirs, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_packet_send() - send one object, whole or not at all
 * @fd:     borrowed; blocking or not
 * @object: borrowed
 * @err:    INTERNAL when the text is longer than a packet, the other end is gone (native EPIPE,
 *          no signal), or a non-blocking socket is full (native EAGAIN)
 */
int bh_packet_send(int fd, const json_t *object, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_packet_receive() - take one packet and read it
 * @fd:         borrowed; a blocking one waits
 * @ret_object: a new reference, written only when 0 is returned
 * @err:        filled on failure and for BH_PACKET_MALFORMED
 *
 * Return: 0 an object; a bh_packet_result; negative: the socket itself failed.
 */
int bh_packet_receive(int fd, json_t **ret_object, struct bh_error *err) BH_MUST_CHECK;

#endif
