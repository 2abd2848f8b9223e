import { createHash } from 'node:crypto';
import { type Document, isMap, isScalar, isSeq, type Scalar } from 'yaml';
import { checkMac, dataKeyOf, ENCRYPTED_ONLY, type SopsMetadata } from './sops-metadata.ts';
import { isEncryptedValue, openValue, unreadable } from './sops-value.ts';

/**
 * Decrypts a YAML document in place and takes its `sops` block out. The MAC of SOPS covers the tree in the order of the file,
 * so the nodes of the document are walked in that order.
 * @throws FleetError SECRET_UNREADABLE: not a recipient, a value or the MAC is not right
 */
export const openDocument = async (
  document: Document,
  metadata: SopsMetadata,
  identity: string,
): Promise<void> => {
  const key = await dataKeyOf(metadata, identity);
  document.delete('sops');
  const hash = createHash('sha512');
  if (metadata.encryptedOnly) hash.update(ENCRYPTED_ONLY);
  for (const { node, context } of leavesOf(document.contents, [])) {
    const encrypted = typeof node.value === 'string' && isEncryptedValue(node.value);
    if (encrypted) {
      const { type, bytes } = openValue(node.value as string, key, context);
      hash.update(type === 'bool' ? titled(bytes.toString()) : bytes);
      node.value = toScalar(type, bytes);
    } else if (!metadata.encryptedOnly) hash.update(plainText(node));
  }
  checkMac(metadata, hash.digest('hex').toUpperCase(), key);
};

type Leaf = { readonly node: Scalar; readonly context: string };

/** Items of a list stand at the place of the list. */
const leavesOf = (node: unknown, path: readonly string[]): readonly Leaf[] => {
  if (isScalar(node)) return [{ node, context: path.map((key) => `${key}:`).join('') }];
  if (isSeq(node)) return node.items.flatMap((item) => leavesOf(item, path));
  if (isMap(node)) {
    return node.items.flatMap(({ key, value }) =>
      leavesOf(value, [...path, isScalar(key) ? String(key.value) : String(key)]),
    );
  }
  if (node === null || node === undefined) return [];
  throw unreadable('it has an alias, which SOPS does not write');
};

const toScalar = (type: string, bytes: Buffer): unknown => {
  const text = bytes.toString();
  switch (type) {
    case 'int':
      return Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text);
    case 'float':
      return Number(text);
    case 'bool':
      return text.toLowerCase() === 'true';
    default:
      return text;
  }
};

/** A value that was never encrypted, as SOPS hashes it: Go's words for booleans, and numbers without an exponent. */
const plainText = ({ value, source = '' }: Scalar): string => {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return titled(String(value));
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'number') return '';
  // SOPS hashes the digits of the file; a double would round long integers.
  return /^-?\d{16,19}$/.test(source) ? source : withoutExponent(value);
};

const titled = (text: string): string => (text.toLowerCase() === 'true' ? 'True' : 'False');

const withoutExponent = (value: number): string => {
  const [, sign = '', head = '', tail = '', power = ''] =
    /^(-?)(\d)(?:\.(\d+))?e([+-]\d+)$/.exec(String(value)) ?? [];
  if (power === '') return String(value);
  const digits = head + tail;
  const point = 1 + Number(power);
  if (point <= 0) return `${sign}0.${'0'.repeat(-point)}${digits}`;
  return `${sign}${digits.padEnd(point, '0')}`;
};
