/* What criu's preloaded library and the broker say to each other, see broker.c and preload.c. */
#ifndef PREEMPTIBLE_BROKER_H
#define PREEMPTIBLE_BROKER_H

/* criu's end of the socket. */
#define BROKER_FD 3

/* The answer is an errno (int, 0 = none), and with 0 a descriptor of the file, opened with O_PATH. */
struct mapped_file {
	int pid;
	unsigned long start;
	unsigned long end;
};

#endif
