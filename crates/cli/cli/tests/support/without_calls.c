/* Runs a program for which system calls end with an error, as on a file system that lacks what they ask for:
   without_calls ERRNO CALL... -- PROGRAM ARGUMENTS. Of renameat2 only what has flags fails. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int number_of(const char *name)
{
    static const struct { const char *name; int number; } calls[] = {
        { "fchmod", SYS_fchmod }, { "fchmodat", SYS_fchmodat }, { "linkat", SYS_linkat },
        { "symlinkat", SYS_symlinkat }, { "renameat2", SYS_renameat2 },
    };
    for (unsigned n = 0; n < sizeof calls / sizeof *calls; n++)
        if (!strcmp(name, calls[n].name))
            return calls[n].number;
    exit(123);
}

int main(int argc, char **argv)
{
    struct sock_filter code[128];
    struct sock_filter number = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    struct sock_filter flags = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[4]));
    struct sock_filter pass = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    unsigned short count = 0;
    int at = 2;
    if (argc < 4)
        return 124;
    struct sock_filter fail = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)atoi(argv[1]));
    for (; at < argc && strcmp(argv[at], "--") && count < 100; at++) {
        int call = number_of(argv[at]);
        int plain = call == SYS_renameat2;
        struct sock_filter is = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, plain ? 3 : 1);
        struct sock_filter none = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
        code[count++] = number;
        code[count++] = is;
        if (plain) {
            code[count++] = flags;
            code[count++] = none;
        }
        code[count++] = fail;
    }
    code[count++] = pass;
    struct sock_fprog program = { count, code };
    if (at + 1 >= argc || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        return 125;
    execv(argv[at + 1], argv + at + 1);
    return 126;
}
