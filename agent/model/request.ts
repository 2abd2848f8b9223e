/** The enrolment request of an agent. */
export type { Request } from '#bundles/schemas/types/request';
