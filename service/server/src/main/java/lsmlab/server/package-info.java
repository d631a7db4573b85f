/** The service as a process: its command line, its configuration, and the start and stop of its parts. */
package lsmlab.server;
