import type { EnrollRequest } from '#bundles/formats/events/hub-api';

/** The enrolment request of an agent (bundles/schemas/request.schema.json). */
export type Request = EnrollRequest['request'];
