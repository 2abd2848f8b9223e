import type { FleetError } from '#bundles/errors';

/** Failures that another object of the same package may end: a webhook, an API service or a definition that its pods bring. */
const CURABLE: ReadonlySet<string> = new Set(['WEBHOOK_UNREACHABLE', 'API_FAILED', 'CLUSTER_LACKS']);

export const isCurable = ({ code }: Pick<FleetError, 'code'>): boolean => CURABLE.has(code);
