import { siteFence } from '../bounds/site-fence.ts';
import { pointerTokens } from '../bounds/site-fields.ts';
import { FleetError } from '../../errors.ts';
import { canonicalJson, type Json } from '../../json/canonical.ts';
import type { ParsedDocument } from '../bundle/parse-manifests.ts';
import { markReaders } from './mark-readers.ts';
import type { ResolvedInput as SiteInput } from './resolve-inputs.ts';

/**
 * Sets site values at JSON pointers (RFC 6901) that begin with the index of the document in its file: '/0/spec/...'. The parent of the
 * field must exist. Pod templates that read a ConfigMap whose pods restart with its content get the hash of that content. Returns new
 * documents and does not change the given ones.
 * @throws FleetError SITE_VALUES, OUT_OF_BOUNDS that names input, file and field, never the value
 */
export const putInputs = (
  documents: readonly ParsedDocument[],
  inputs: readonly SiteInput[],
): readonly ParsedDocument[] => {
  const put = new Map(documents.map((document) => [keyOf(document.file, document.index), document]));
  const restarting = new Set<string>();
  for (const input of inputs) {
    const [index = '', ...tokens] = parsePointer(input);
    const key = keyOf(input.file, /^(0|[1-9]\d*)$/.test(index) ? Number(index) : -1);
    const document = put.get(key);
    if (!document || tokens.length === 0) throw noField(input);
    const value = valueOf(input);
    const after = setAt(document.value, tokens, value, input) as ParsedDocument['value'];
    const why = siteFence(document.value, tokens, value);
    if (why !== undefined) throw outOfBounds(input, why);
    put.set(key, { ...document, value: after });
    if (input.restart === true) restarting.add(key);
  }
  return markReaders(
    [...put.values()],
    [...restarting].flatMap((key) => put.get(key) ?? []),
  );
};

const valueOf = ({ value, as }: SiteInput): Json => {
  if (as !== 'text' || typeof value === 'string') return value;
  return value === null ? '' : canonicalJson(value, 'doubles');
};

const keyOf = (file: string, index: number): string => `${index} ${file}`;

const parsePointer = (input: SiteInput): readonly string[] => {
  if (!input.pointer.startsWith('/')) throw noField(input);
  return pointerTokens(input.pointer);
};

const setAt = (
  node: unknown,
  [token = '', ...rest]: readonly string[],
  value: Json,
  input: SiteInput,
): unknown => {
  const next = (inner: unknown): unknown => (rest.length === 0 ? value : setAt(inner, rest, value, input));
  if (Array.isArray(node)) {
    if (!/^(0|[1-9]\d{0,8})$/.test(token) || Number(token) >= node.length) throw noField(input);
    return node.with(Number(token), next(node[Number(token)]));
  }
  if (typeof node !== 'object' || node === null) throw noField(input);
  const before: unknown = Object.hasOwn(node, token) ? (node as Record<string, unknown>)[token] : undefined;
  // defineProperty and not an assignment, because '__proto__' is an ordinary key.
  return Object.defineProperty({ ...node }, token, {
    value: next(before),
    enumerable: true,
    writable: true,
    configurable: true,
  });
};

const noField = ({ input, file, pointer }: SiteInput): FleetError =>
  new FleetError(
    'SITE_VALUES',
    `site value ${JSON.stringify(input)} goes to ${JSON.stringify(pointer)} of ${file}, which is not there`,
  );

const outOfBounds = ({ input, file, pointer }: SiteInput, why: string): FleetError =>
  new FleetError(
    'OUT_OF_BOUNDS',
    `site value ${JSON.stringify(input)} may not go to ${JSON.stringify(pointer)} of ${file}: ${why}`,
    { hint: 'Tell the platform team: the package has to change; nothing was written' },
  );
