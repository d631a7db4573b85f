/** The subcommands of the service's command line. */
package lsmlab.server.command;
