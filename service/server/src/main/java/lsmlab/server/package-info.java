/** The service as a process: the start and stop of its parts. */
package lsmlab.server;
