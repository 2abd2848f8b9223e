import type { FleetError } from '#bundles/errors';

/** Failures that another object of the same package may end: a webhook, an API service or a definition that its pods bring. */
const TRANSIENT_CODES: ReadonlySet<string> = new Set(['WEBHOOK_UNREACHABLE', 'API_FAILED', 'CLUSTER_LACKS']);

export const isTransient = ({ code }: Pick<FleetError, 'code'>): boolean => TRANSIENT_CODES.has(code);
