/* Nothing to call: see PlainSecrets.c. */
#pragma once
/* Keeps the object file in the link. */
void plain_secrets(void);
