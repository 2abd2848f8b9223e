import { FleetError, isFleetError, toFleetError } from '#bundles/errors';
import type { KubernetesApi, LiveObject } from '../api/kubernetes-api.ts';
import type { LeaseOptions } from './lease-options.ts';
import { LEASE_TYPE, readRecord, renewed } from './lease-record.ts';

const RETRY_MS = 1000;
/** Timeout of one renewal, short enough for further attempts if the server hangs. */
const REQUEST_MS = 4000;

/**
 * Renews the lease until the signal fires. @returns the current lease, to be released, or the error by which it was lost
 */
export const keepLease = async (
  api: Pick<KubernetesApi, 'read' | 'replace'>,
  taken: LiveObject,
  options: LeaseOptions,
  signal: AbortSignal,
): Promise<{ readonly lease: LiveObject } | { readonly lost: FleetError }> => {
  const { clock, renewMs, deadlineMs } = options;
  let lease = taken;
  let renewedAt = clock.elapsedMs();
  let pause = renewMs;
  let failure: FleetError | undefined;
  for (;;) {
    // Bounds a renewal that gets no response at all.
    const left = renewedAt + deadlineMs - clock.elapsedMs();
    if (left <= 0) return { lost: notRenewed(options, failure) };
    await clock.sleep(Math.min(pause, left), signal);
    if (signal.aborted) return { lease };
    const at = clock.elapsedMs();
    const limit = AbortSignal.any([
      signal,
      AbortSignal.timeout(Math.ceil(Math.max(1, Math.min(REQUEST_MS, renewedAt + deadlineMs - at)))),
    ]);
    try {
      lease = await api.replace(renewed(lease, clock.now()), limit);
      renewedAt = at;
      pause = renewMs;
    } catch (cause) {
      if (signal.aborted) return { lease };
      failure = toFleetError(cause);
      pause = RETRY_MS;
      if (!isFleetError(cause, 'FIELD_CONFLICT')) continue;
      const found = await api.read({ ...LEASE_TYPE, ...lease.metadata }, limit).catch(() => undefined);
      if (!found) continue;
      const { holder } = readRecord(found);
      if (holder !== options.holder) return { lost: leaseLostError(options, holder) };
      // Our own earlier renewal, whose response was lost.
      lease = found;
    }
  }
};

const leaseLostError = ({ namespace, name }: LeaseOptions, holder: string): FleetError =>
  new FleetError('BUSY', `another fleet-agent took this cluster over: ${holder || 'nobody known'}`, {
    subject: `Lease ${namespace}/${name}`,
    hint: 'Stop one of the two; the interrupted operation continues when the lease is free',
  });

const notRenewed = (
  { namespace, name, deadlineMs }: LeaseOptions,
  cause: FleetError | undefined,
): FleetError =>
  new FleetError(
    'API_UNREACHABLE',
    `the lease on this cluster could not be renewed for ${Math.round(deadlineMs / 1000)} s`,
    {
      subject: `Lease ${namespace}/${name}`,
      cause,
      hint: 'The operation continues when the API server answers',
    },
  );
