/** What one agent may ask of the hub. */
export type AgentQuota = { readonly requestsPerMinute: number; readonly bytesPerMinute: number };

/** A fleet that comes back after a month hands over some megabytes an agent, and hears presence and certificates besides. */
export const AGENT_QUOTA: AgentQuota = { requestsPerMinute: 120, bytesPerMinute: 8 << 20 };

export type Quota = {
  /** @returns 0, or after how many seconds to come back; then nothing was taken */
  readonly take: (who: string, amount: number) => number;
  /** Callers that are remembered. */
  readonly size: () => number;
};

type Bucket = { readonly left: number; readonly at: number };

const MINUTE_MS = 60_000;
/** So many callers are remembered before those are forgotten whose bucket is full again. */
const MANY = 10_000;

/**
 * A token bucket for each caller: `perMinute` comes back in a minute, and `burst` can be taken at once.
 * @param now milliseconds of a clock that is never set back
 */
export const createQuota = (
  { perMinute, burst = perMinute }: { readonly perMinute: number; readonly burst?: number },
  now: () => number = () => performance.now(),
): Quota => {
  const buckets = new Map<string, Bucket>();
  const leftOf = (bucket: Bucket | undefined, at: number): number =>
    bucket ? Math.min(burst, bucket.left + ((at - bucket.at) * perMinute) / MINUTE_MS) : burst;
  return {
    take: (who, amount) => {
      const at = now();
      const left = leftOf(buckets.get(who), at);
      const wanted = Math.min(amount, burst);
      if (left < wanted) return Math.ceil(((wanted - left) * MINUTE_MS) / perMinute / 1000);
      if (buckets.size >= MANY)
        for (const [one, bucket] of buckets) if (leftOf(bucket, at) === burst) buckets.delete(one);
      buckets.set(who, { left: left - wanted, at });
      return 0;
    },
    size: () => buckets.size,
  };
};
