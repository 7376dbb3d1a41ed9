/* Who called sudo, and becoming that user for good. */
#define _GNU_SOURCE
#include "helper.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

void find_caller(struct caller *caller)
{
	/* sudo sets it, whatever the user had there. */
	const char *given = getenv("SUDO_UID");
	char text[32] = "";
	if (given && strlen(given) < sizeof text)
		strcpy(text, given);
	/* No library that is called from here on, such as those of the user database, finds anything in it. */
	clearenv();
	char *end = NULL;
	errno = 0;
	unsigned long long id = *text >= '1' && *text <= '9' ? strtoull(text, &end, 10) : 0;
	if (id == 0 || errno != 0 || *end != '\0' || id >= 0xFFFFFFFEULL)
		refuse(NO_RIGHTS, "this is to be called through sudo by a user other than root");
	if (getuid() != 0 || geteuid() != 0)
		refuse(NO_RIGHTS, "this is to be called through sudo, which gives it root's rights");
	struct passwd *user = getpwuid((uid_t) id);
	if (!user)
		refuse(NO_RIGHTS, "the user database has no user of the id %llu", id);
	caller->uid = user->pw_uid;
	caller->gid = user->pw_gid;
	caller->group_count = MOST_GROUPS;
	if (getgrouplist(user->pw_name, user->pw_gid, caller->groups, &caller->group_count) < 0)
		refuse(NO_RIGHTS, "the user is in more than %d groups", MOST_GROUPS);
}

static bool set_capabilities(uint64_t set)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {
		{.effective = (uint32_t) set, .permitted = (uint32_t) set},
		{.effective = (uint32_t) (set >> 32), .permitted = (uint32_t) (set >> 32)},
	};
	return syscall(SYS_capset, &header, data) == 0;
}

static bool has_capabilities(uint64_t set)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};
	if (syscall(SYS_capget, &header, data) != 0)
		return false;
	for (int word = 0; word < 2; word++) {
		uint32_t wanted = (uint32_t) (set >> (32 * word));
		if (data[word].effective != wanted || data[word].permitted != wanted || data[word].inheritable != 0)
			return false;
	}
	return true;
}

bool become(const struct caller *caller, uint64_t keep)
{
	if (prctl(PR_SET_KEEPCAPS, keep != 0, 0, 0, 0) != 0
	    || setgroups((size_t) caller->group_count, caller->groups) != 0
	    || setresgid(caller->gid, caller->gid, caller->gid) != 0
	    || setresuid(caller->uid, caller->uid, caller->uid) != 0
	    || prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0
	    || !set_capabilities(keep)
	    || prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0) != 0
	    /* A setuid program that the stage froze or killed halfway would be one of root's. */
	    || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return false;
	/* Not what was asked for counts, but what is. */
	uid_t uids[3];
	gid_t gids[3];
	if (getresuid(&uids[0], &uids[1], &uids[2]) != 0 || getresgid(&gids[0], &gids[1], &gids[2]) != 0)
		return false;
	for (int which = 0; which < 3; which++)
		if (uids[which] != caller->uid || gids[which] != caller->gid)
			goto left;
	if (has_capabilities(keep))
		return true;
left:
	errno = EPERM;
	return false;
}

bool raise_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};
	if (syscall(SYS_capget, &header, data) != 0)
		return false;
	for (int word = 0; word < 2; word++)
		data[word].effective = data[word].permitted;
	return syscall(SYS_capset, &header, data) == 0;
}

bool drop_capabilities(void)
{
	if (!set_capabilities(0))
		return false;
	errno = EPERM;
	return has_capabilities(0);
}
