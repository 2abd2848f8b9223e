/** Request limits of one agent. */
export type AgentQuota = { readonly requestsPerMinute: number; readonly bytesPerMinute: number };

/** Enough for an agent that reconnects after a month with some megabytes of reports, besides presence and certificates. */
export const AGENT_QUOTA: AgentQuota = { requestsPerMinute: 120, bytesPerMinute: 8 << 20 };

export type Quota = {
  /** Takes from the caller's bucket. @returns 0, or the seconds to wait if the amount is not available; nothing is taken then */
  readonly take: (who: string, amount: number) => number;
  /** Number of callers with a bucket. */
  readonly size: () => number;
};

type Bucket = { readonly left: number; readonly at: number };

const MINUTE_MS = 60_000;
/** Number of buckets from which on full ones are dropped. */
const MAX_BUCKETS = 10_000;

/**
 * A token bucket per caller: refilled by `perMinute` each minute, holding at most `burst`.
 * @param now milliseconds of a monotonic clock
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
      if (buckets.size >= MAX_BUCKETS)
        for (const [one, bucket] of buckets) if (leftOf(bucket, at) === burst) buckets.delete(one);
      buckets.set(who, { left: left - wanted, at });
      return 0;
    },
    size: () => buckets.size,
  };
};
