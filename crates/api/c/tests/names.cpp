// The header in C++.
#include <fanfare.h>

int main()
{
    fanfare_event event;
    return fanfare_files_next(0, 0, &event) == FANFARE_INVALID ? 0 : 1;
}
