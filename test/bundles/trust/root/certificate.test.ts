import { randomBytes, X509Certificate } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { addDays } from '#bundles/time';
import { readIssuer } from '#bundles/trust/root/certificate';
import { checkClientCertificate } from '#bundles/trust/root/check-certificate';
import { decodeDer, TAG, time, unsigned } from '#bundles/trust/root/der';
import {
  createAuthority,
  issueClientCertificate,
  issueServerCertificate,
} from '#bundles/trust/root/issue-certificate';
import { refusal } from '../../refusal.ts';
import { newKey } from './new-key.ts';

const NOW = new Date('2026-11-21T08:00:00Z');
const subject = { fleet: 'acme', site: 'plant-7', agent: 'line-1' };
const issuance = () => ({ now: NOW, serial: randomBytes(16) });

const newAuthority = async (fleet = 'acme', now = NOW) => {
  const key = newKey();
  return { key, certificate: await createAuthority(fleet, key, { now, serial: randomBytes(16) }) };
};

const authority = await newAuthority();
const key = newKey();
const client = await issueClientCertificate(subject, key.public, authority, issuance());
const server = await issueServerCertificate(['hub.example'], key.public, authority, issuance());

const check = (pem: string, changes: Partial<Parameters<typeof checkClientCertificate>[1]> = {}) =>
  checkClientCertificate(new X509Certificate(pem), {
    fleet: 'acme',
    authorities: [authority.certificate],
    now: NOW,
    ...changes,
  });

describe('a client certificate', () => {
  it('contains its agent, key and expiry', () => {
    const { key: certified, ...rest } = check(client);
    expect(rest).toMatchObject({ ...subject, expires: addDays(NOW, 90) });
    expect(certified.pem).toBe(key.public.pem);
  });

  it('is read by Node as a client certificate, valid from an hour ago', () => {
    const read = new X509Certificate(client);
    expect(read.subjectAltName).toBe('URI:fleet://acme/site/plant-7/agent/line-1');
    expect(read.keyUsage).toEqual(['1.3.6.1.5.5.7.3.2']);
    expect(read.ca).toBe(false);
    expect(read.validFromDate).toEqual(new Date('2026-11-21T07:00:00Z'));
    expect(read.subject).toBe('CN=plant-7/line-1');
  });

  it('has a random serial number, and the same signed content for the same number', async () => {
    const serial = Buffer.alloc(16, 7);
    const both = await Promise.all(
      [1, 2].map(() => issueClientCertificate(subject, key.public, authority, { now: NOW, serial })),
    );
    const signed = both.map((pem) =>
      decodeDer(new X509Certificate(pem).raw).children[0]?.raw.toString('hex'),
    );
    expect(signed[0]).toBe(signed[1]);
    const numbers = [client, server].map((pem) => new X509Certificate(pem).serialNumber);
    expect(new Set(numbers).size).toBe(2);
  });

  it('never expires after its authority', async () => {
    const old = await newAuthority('acme', addDays(NOW, -3600));
    const pem = await issueClientCertificate(subject, key.public, old, issuance());
    expect(new X509Certificate(pem).validToDate).toEqual(addDays(NOW, 50));
    const ended = await newAuthority('acme', addDays(NOW, -3651));
    await expect(issueClientCertificate(subject, key.public, ended, issuance())).rejects.toMatchObject({
      code: 'CERTIFICATE_INVALID',
    });
  });
});

describe('a certificate is refused as that of an agent', () => {
  it('when another authority issued it, also one with the same name', async () => {
    const other = await newAuthority();
    const pem = await issueClientCertificate(subject, key.public, other, issuance());
    expect(refusal(() => check(pem))).toBe('CERTIFICATE_INVALID');
    expect(check(pem, { authorities: [authority.certificate, other.certificate] })).toMatchObject(subject);
  });

  it('without an authority, or when the authority has expired', () => {
    expect(refusal(() => check(client, { authorities: [] }))).toBe('CERTIFICATE_INVALID');
    expect(refusal(() => check(client, { now: addDays(NOW, 3651), allowExpired: true }))).toBe(
      'CERTIFICATE_INVALID',
    );
  });

  it("when it is a server certificate or the authority's own", () => {
    expect(refusal(() => check(server))).toBe('CERTIFICATE_INVALID');
    expect(refusal(() => check(authority.certificate))).toBe('CERTIFICATE_INVALID');
  });

  it('before and after its validity; after it only unless allowExpired is set', () => {
    expect(refusal(() => check(client, { now: addDays(NOW, -1) }))).toBe('CERTIFICATE_INVALID');
    expect(refusal(() => check(client, { now: addDays(NOW, 90) }))).toBe('CERTIFICATE_INVALID');
    expect(check(client, { now: addDays(NOW, 400), allowExpired: true })).toMatchObject(subject);
  });

  it('when it is of another fleet', async () => {
    const pem = await issueClientCertificate(
      { ...subject, fleet: 'other' },
      key.public,
      authority,
      issuance(),
    );
    expect(refusal(() => check(pem))).toBe('WRONG_FLEET');
  });

  it('when one bit of it is changed', () => {
    const der = new X509Certificate(client).raw;
    const accepted: number[] = [];
    for (let at = 0; at < der.length; at += 3) {
      const changed = Buffer.from(der);
      changed[at] = (changed[at] ?? 0) ^ 1;
      const pem = `-----BEGIN CERTIFICATE-----\n${changed.toString('base64')}\n-----END CERTIFICATE-----\n`;
      let read: X509Certificate;
      try {
        read = new X509Certificate(pem);
      } catch {
        continue;
      }
      const check = () =>
        checkClientCertificate(read, { fleet: 'acme', authorities: [authority.certificate], now: NOW });
      if (refusal(check) === undefined) accepted.push(at);
    }
    expect(accepted).toEqual([]);
  });
});

describe("the hub's certificate", () => {
  it('contains DNS names, wildcards, IPv4 and IPv6 addresses', async () => {
    const names = ['hub.example', '*.hub.example', '10.7.0.1', '::1', '2001:db8::a:1', '::ffff:10.0.0.1'];
    const pem = await issueServerCertificate(names, key.public, authority, issuance());
    const read = new X509Certificate(pem);
    expect(read.checkHost('hub.example')).toBe('hub.example');
    expect(read.checkHost('x.hub.example')).toBeDefined();
    expect(read.checkHost('hub.elsewhere')).toBeUndefined();
    for (const ip of ['10.7.0.1', '::1', '2001:db8::a:1', '::ffff:10.0.0.1'])
      expect({ ip, found: read.checkIP(ip) !== undefined }).toEqual({ ip, found: true });
    expect(read.checkIP('10.7.0.2')).toBeUndefined();
  });

  it.each(['hub example', 'hub_1', '-hub', `${'a'.repeat(64)}.example`, '', 'hub.example/'])(
    'is refused for %j',
    async (name) => {
      await expect(
        Promise.resolve().then(() => issueServerCertificate([name], key.public, authority, issuance())),
      ).rejects.toMatchObject({ code: 'USAGE' });
    },
  );
});

describe('the authority', () => {
  it('is read by readIssuer with the exact bytes of its name', () => {
    const read = new X509Certificate(authority.certificate);
    const { name, identifier } = readIssuer(read);
    expect(identifier).toHaveLength(20);
    const issuer = decodeDer(new X509Certificate(client).raw).children[0]?.children[3]?.raw;
    expect(issuer?.equals(name)).toBe(true);
    expect(read.ca).toBe(true);
    expect(read.validToDate).toEqual(addDays(NOW, 3650));
  });
});

describe('DER', () => {
  it.each([
    ['00', '020100'],
    ['7f', '02017f'],
    ['80', '02020080'],
    ['0000ff', '020200ff'],
    ['0100', '02020100'],
  ])('writes the whole number %s as %s', (hex, der) => {
    expect(unsigned(Buffer.from(hex, 'hex')).toString('hex')).toBe(der);
  });

  it('writes years with two digits until 2049, and with four from then on', () => {
    const read = (at: string) => decodeDer(time(new Date(at)));
    expect(read('2049-12-31T23:59:59Z')).toMatchObject({ tag: TAG.utcTime });
    expect(read('2049-12-31T23:59:59Z').content.toString()).toBe('491231235959Z');
    expect(read('2050-01-01T00:00:00Z')).toMatchObject({ tag: TAG.generalizedTime });
    expect(read('2050-01-01T00:00:00Z').content.toString()).toBe('20500101000000Z');
  });
});
