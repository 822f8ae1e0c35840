// What libdispatch exports for another loop that runs the blocks of its main queue, and declares in no installed header.
#pragma once

// The event descriptor (eventfd) to which the main queue writes when it has blocks. Nobody else reads it.
extern int _dispatch_get_main_queue_handle_4CF(void);

// Runs the blocks of the main queue; called on the main thread. The message is unused.
extern void _dispatch_main_queue_callback_4CF(void *message);
