import type { EnrollRequest } from '#bundles/hub/hub-api';

/** What an agent asks to be enrolled with, as docs/schemas/request.schema.json has it. */
export type Request = EnrollRequest['request'];
