import type { Json } from '#bundles/json/canonical';
import { FleetError } from '#bundles/errors';
import type { DesiredPackage } from '../../../model/target.ts';
import type { ParsedDocument } from '../../../model/parse-manifests.ts';

type SiteInput = DesiredPackage['siteInputs'][number];

/**
 * Sets site values at JSON pointers (RFC 6901) that begin with the index of the document in its file: '/0/spec/...'. The parent of the
 * field must exist. Returns new documents and does not change the given ones.
 * @throws FleetError SITE_VALUES that names input, file and field, never the value
 */
export const putInputs = (
  documents: readonly ParsedDocument[],
  inputs: readonly SiteInput[],
): readonly ParsedDocument[] => {
  const put = new Map(documents.map((document) => [keyOf(document.file, document.index), document]));
  for (const input of inputs) {
    const [index = '', ...tokens] = parsePointer(input);
    const key = keyOf(input.file, /^(0|[1-9]\d*)$/.test(index) ? Number(index) : -1);
    const document = put.get(key);
    if (!document || tokens.length === 0) throw noField(input);
    put.set(key, { ...document, value: setAt(document.value, tokens, input) as ParsedDocument['value'] });
  }
  return [...put.values()];
};

const keyOf = (file: string, index: number): string => `${index} ${file}`;

const parsePointer = (input: SiteInput): readonly string[] => {
  if (!input.pointer.startsWith('/')) throw noField(input);
  return input.pointer
    .slice(1)
    .split('/')
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
};

const setAt = (node: unknown, [token = '', ...rest]: readonly string[], input: SiteInput): unknown => {
  if (Array.isArray(node)) {
    if (!/^(0|[1-9]\d{0,8})$/.test(token) || Number(token) >= node.length) throw noField(input);
    return node.with(Number(token), next(node[Number(token)], rest, input));
  }
  if (typeof node !== 'object' || node === null) throw noField(input);
  const before: unknown = Object.hasOwn(node, token) ? (node as Record<string, unknown>)[token] : undefined;
  // defineProperty and not an assignment, because '__proto__' is an ordinary key.
  return Object.defineProperty({ ...node }, token, {
    value: next(before, rest, input),
    enumerable: true,
    writable: true,
    configurable: true,
  });
};

const next = (node: unknown, rest: readonly string[], input: SiteInput): unknown =>
  rest.length === 0 ? (input.value satisfies Json) : setAt(node, rest, input);

const noField = ({ input, file, pointer }: SiteInput): FleetError =>
  new FleetError(
    'SITE_VALUES',
    `site value ${JSON.stringify(input)} goes to ${JSON.stringify(pointer)} of ${file}, which is not there`,
  );
