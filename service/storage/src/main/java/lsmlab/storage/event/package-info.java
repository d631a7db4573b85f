/** A log of flushes, compactions, stalls and slow syncs, with their times. */
package lsmlab.storage.event;
