import { generateKeyPairSync, sign } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCertificateRequest, parseCertificateRequest } from '#bundles/trust/root/certificate-request';
import { bitString, decodeDer, encodeDer, oid, sequence } from '#bundles/trust/root/der';
import type { SigningKey } from '#bundles/trust/keys/key';
import { flippedByte } from '../../mutate.ts';
import { refusal } from '../../refusal.ts';
import { newKey } from './new-key.ts';
import { runs } from '../../../harness/run/long.ts';

const key = newKey();
const subject = { fleet: 'acme', site: 'plant-7', agent: 'line-1' };
const pem = await createCertificateRequest(subject, key);

const toDer = (text: string) => Buffer.from(text.replaceAll(/-----.*-----|\n/g, ''), 'base64');
const toPem = (der: Buffer) =>
  `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`;
const refusalOf = (text: string) => refusal(() => parseCertificateRequest(text));

const SHA256_ECDSA = sequence(oid('1.2.840.10045.4.3.2'));

/** The request with bytes of its signed part replaced and signed anew: sound in all but what it says. */
const resigned = async (change: (info: Buffer) => Buffer, signer: SigningKey = key) => {
  const info = change(decodeDer(toDer(pem)).children[0]?.raw as Buffer);
  return toPem(sequence(info, SHA256_ECDSA, bitString(await signer.sign(info))));
};

const replaced = (from: string | Buffer, to: string | Buffer) => (info: Buffer) => {
  const at = info.indexOf(from);
  expect(at).toBeGreaterThan(0);
  expect(to.length).toBe(from.length);
  return Buffer.concat([info.subarray(0, at), Buffer.from(to), info.subarray(at + from.length)]);
};

describe('a certificate request', () => {
  it('contains fleet, site, agent and public key', () => {
    const request = parseCertificateRequest(pem);
    expect(request).toMatchObject(subject);
    expect(request.key.hint).toBe(key.public.hint);
  });

  it('is PEM with lines of at most 64 characters, also read with Windows line ends', () => {
    expect(pem.split('\n').every((line) => line.length <= 64)).toBe(true);
    expect(parseCertificateRequest(pem.replaceAll('\n', '\r\n'))).toMatchObject(subject);
  });

  it('is parsed the same after its parts were encoded and signed again', async () => {
    expect(parseCertificateRequest(await resigned((info) => info))).toMatchObject(subject);
  });

  it('may have names of the maximum length', async () => {
    const longest = { fleet: 'f'.repeat(63), site: 's'.repeat(63), agent: 'a'.repeat(63) };
    expect(parseCertificateRequest(await createCertificateRequest(longest, key))).toMatchObject(longest);
  });
});

describe('a certificate request is refused', () => {
  it('when another key signed it: no proof of possession', async () => {
    expect(await resigned((info) => info, newKey()).then(refusalOf)).toBe('REQUEST_INVALID');
  });

  it('when it was edited after signing', () => {
    const der = toDer(pem);
    expect(refusalOf(toPem(replaced('plant-7/agent', 'plant-8/agent')(der)))).toBe('REQUEST_INVALID');
  });

  it('when its key is P-384', () => {
    const other = generateKeyPairSync('ec', { namedCurve: 'P-384' });
    const [version, name, , attributes] = decodeDer(toDer(pem)).children[0]?.children ?? [];
    const info = sequence(
      version?.raw as Buffer,
      name?.raw as Buffer,
      other.publicKey.export({ type: 'spki', format: 'der' }),
      attributes?.raw as Buffer,
    );
    const signature = sign('sha256', info, other.privateKey);
    expect(refusalOf(toPem(sequence(info, SHA256_ECDSA, bitString(signature))))).toBe('REQUEST_INVALID');
  });

  it('when its public point is compressed, which would give one key a second hint', async () => {
    const [version, name, spki, attributes] = decodeDer(toDer(pem)).children[0]?.children ?? [];
    const point = spki?.raw.subarray(26) as Buffer;
    const compressed = Buffer.concat([
      Buffer.from('3039301306072a8648ce3d020106082a8648ce3d030107032200', 'hex'),
      Buffer.from([2 + ((point[64] as number) & 1)]),
      point.subarray(1, 33),
    ]);
    const info = sequence(version?.raw as Buffer, name?.raw as Buffer, compressed, attributes?.raw as Buffer);
    const text = toPem(sequence(info, SHA256_ECDSA, bitString(await key.sign(info))));
    expect(refusalOf(text)).toBe('REQUEST_INVALID');
  });

  it.each([
    ['names another agent to people than to machines', replaced('plant-7/line-1', 'plant-7/line-2')],
    ['has a URI of another kind', replaced('fleet://', 'https://')],
    ['has a name that is not a DNS label', replaced('acme', 'AcMe')],
    ['has a name that climbs', replaced('acme/', '../x/')],
    ['has a name of another type', replaced(Buffer.from([0x86]), Buffer.from([0x82]))],
    ['asks for another extension', replaced(oid('2.5.29.17'), oid('2.5.29.19'))],
    ['has a challenge password', replaced(oid('1.2.840.113549.1.9.14'), oid('1.2.840.113549.1.9.7'))],
    ['is of another version', replaced(encodeDer(2, Buffer.from([0])), encodeDer(2, Buffer.from([1])))],
  ])('when it %s', async (_why, change) => {
    expect(refusalOf(await resigned(change))).toBe('REQUEST_INVALID');
  });

  it('when it is not exactly one PEM block', () => {
    const loose = pem.replace('\n', '\n=');
    const texts = ['', 'hello', `${pem}${pem}`, `text\n${pem}`, pem.replaceAll(' REQUEST', ''), loose];
    expect(texts.map(refusalOf)).toEqual(texts.map(() => 'REQUEST_INVALID'));
  });

  it('when it exceeds the size limit, before it is decoded', () => {
    const long = pem.replace('\n', `\n${'A'.repeat(9000)}\n`);
    expect(refusalOf(long)).toBe('REQUEST_INVALID');
  });

  it('for any changed byte, without a crash', () => {
    fc.assert(
      fc.property(flippedByte(toDer(pem)), (changed) => {
        expect(refusalOf(toPem(changed))).toBe('REQUEST_INVALID');
      }),
      { numRuns: runs(1000) },
    );
  });

  it('or parsed when it is signed with any changed byte, without a crash', async () => {
    const info = decodeDer(toDer(pem)).children[0]?.raw as Buffer;
    await fc.assert(
      fc.asyncProperty(flippedByte(info), async (changed) => {
        const code = refusalOf(await resigned(() => changed));
        if (code !== undefined) expect(code).toBe('REQUEST_INVALID');
      }),
      { numRuns: runs(300) },
    );
  });
});
