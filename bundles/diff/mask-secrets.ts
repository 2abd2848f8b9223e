import { isDeepStrictEqual } from 'node:util';
import type { KubernetesObject } from './read-items.ts';

type Pair = readonly [KubernetesObject | undefined, KubernetesObject | undefined];

const FIELDS = ['data', 'stringData'] as const;

/** What kubectl and others keep a copy of the whole object in. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** A Secret's values are not shown, only that one differs: a comment or a log is no place for them, nor for their hashes. */
export const maskSecrets = (
  before: KubernetesObject | undefined,
  after: KubernetesObject | undefined,
): Pair => [before && mask(before, after, '*** (before)'), after && mask(after, before, '*** (after)')];

const mask = (
  object: KubernetesObject,
  other: KubernetesObject | undefined,
  changed: string,
): KubernetesObject => {
  if (object['kind'] !== 'Secret') return object;
  const masked: Record<string, unknown> = { ...object };
  for (const field of FIELDS) {
    const values = recordOf(object[field]);
    if (!values) continue;
    const others = recordOf(other?.[field]) ?? {};
    masked[field] = Object.fromEntries(
      Object.entries(values).map(([key, value]) => [
        key,
        !(key in others) || isDeepStrictEqual(value, others[key]) ? '***' : changed,
      ]),
    );
  }
  const metadata = recordOf(object['metadata']);
  const annotations = recordOf(metadata?.['annotations']);
  if (annotations && LAST_APPLIED in annotations)
    masked['metadata'] = { ...metadata, annotations: { ...annotations, [LAST_APPLIED]: '***' } };
  return masked;
};

const recordOf = (value: unknown): Readonly<Record<string, unknown>> | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
