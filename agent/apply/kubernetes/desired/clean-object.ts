import { isRecord } from '#bundles/is-record';

type Fields = { readonly [field: string]: unknown };

/** Removes `status`, which the server ignores in an apply to a kind with the status subresource. */
export const withoutStatus = <T extends Fields>({ status: _, ...kept }: T): Omit<T, 'status'> => kept;

/**
 * Removes fields that would cause conflicts or permanent differences (checklist S3): the server's own fields, `creationTimestamp: null`
 * of generators, the rules of an aggregated ClusterRole, and placeholder CA bundles. Converts a Secret's `stringData` to `data`, as the
 * server does, because a key removed from `stringData` would otherwise stay. An owner is named by its uid, which no other cluster has: the
 * garbage collector would delete the object after each apply.
 */
export const cleanObject = (value: Fields): Fields => {
  const kept = withoutNullTimes(value) as Fields;
  const metadata = isRecord(kept['metadata']) ? kept['metadata'] : {};
  const {
    managedFields: _m,
    resourceVersion: _r,
    uid: _u,
    generation: _g,
    selfLink: _s,
    ownerReferences: _o,
    ...own
  } = metadata;
  const cleaned = { ...kept, metadata: own };
  switch (kept['kind']) {
    case 'Secret':
      return withData(cleaned);
    case 'ClusterRole':
      return 'aggregationRule' in cleaned ? { ...cleaned, rules: undefined } : cleaned;
    case 'MutatingWebhookConfiguration':
    case 'ValidatingWebhookConfiguration':
    case 'APIService':
    case 'CustomResourceDefinition':
      return withoutEmptyBundles(cleaned) as Fields;
    default:
      return cleaned;
  }
};

const withoutNullTimes = (node: unknown): unknown => {
  if (Array.isArray(node)) return node.map(withoutNullTimes);
  if (!isRecord(node)) return node;
  const entries = Object.entries(node)
    .filter(([key, item]) => !(key === 'creationTimestamp' && item === null))
    .map(([key, item]) => [key, withoutNullTimes(item)] as const);
  return Object.fromEntries(entries);
};

const withData = (secret: Fields): Fields => {
  const { stringData, data, ...rest } = secret;
  if (!isRecord(stringData)) return secret;
  const encoded = Object.entries(stringData).map(
    ([key, text]) => [key, typeof text === 'string' ? Buffer.from(text).toString('base64') : text] as const,
  );
  return { ...rest, data: { ...(isRecord(data) ? data : {}), ...Object.fromEntries(encoded) } };
};

/** Placeholders of generators for a CA bundle: '', and a line feed in base64. */
const EMPTY_BUNDLES: ReadonlySet<unknown> = new Set(['', 'Cg==', null]);

const withoutEmptyBundles = (node: unknown): unknown => {
  if (Array.isArray(node)) return node.map(withoutEmptyBundles);
  if (!isRecord(node)) return node;
  const entries = Object.entries(node)
    .filter(([key, item]) => !(key === 'caBundle' && EMPTY_BUNDLES.has(item)))
    .map(([key, item]) => [key, withoutEmptyBundles(item)] as const);
  return Object.fromEntries(entries);
};
