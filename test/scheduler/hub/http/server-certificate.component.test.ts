import { randomBytes, X509Certificate } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { addDays } from '#bundles/time';
import { createAuthority } from '#bundles/trust/root/issue-certificate';
import { generatePrivateKey } from '#bundles/trust/keys/key';
import { isDue, obtainCertificate } from '../../../../scheduler/hub/http/server-certificate.ts';
import { newSigningKey } from '../../../harness/fleets/signed-fleet.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

const NOW = new Date('2026-11-21T08:00:00Z');
const key = newSigningKey();
const authority = {
  key,
  certificate: await createAuthority('acme', key, { now: NOW, serial: randomBytes(16) }),
};
const issued = { kind: 'issued', authority, hostnames: ['hub.example', '127.0.0.1'] } as const;

test('the authority issues a certificate with its chain and a new key, due for renewal at two thirds of its lifetime', async () => {
  const [one, two] = [await obtainCertificate(issued, NOW), await obtainCertificate(issued, NOW)];
  expect(one.key).not.toBe(two.key);
  expect(one.certificate.match(/BEGIN CERTIFICATE/g)).toHaveLength(2);
  expect(
    new X509Certificate(one.certificate).verify(new X509Certificate(authority.certificate).publicKey),
  ).toBe(true);
  expect(one.to).toEqual(addDays(NOW, 90));
  expect(isDue(one, addDays(NOW, 59))).toBe(false);
  expect(isDue(one, addDays(NOW, 60))).toBe(true);
});

test('certificate and key files are read again each time', async () => {
  await using folder = await temporaryDirectory();
  const files = {
    kind: 'files',
    certificateFile: join(folder.path, 'hub.crt'),
    keyFile: join(folder.path, 'hub.key'),
  } as const;
  const write = async () => {
    const made = await obtainCertificate(issued, NOW);
    await writeFile(files.certificateFile, made.certificate);
    await writeFile(files.keyFile, made.key);
    return made;
  };
  expect(await write()).toEqual(await obtainCertificate(files, NOW));
  expect(await write()).toEqual(await obtainCertificate(files, NOW));
  await expect(obtainCertificate(files, addDays(NOW, 91))).rejects.toMatchObject({
    code: 'CERTIFICATE_INVALID',
    at: { file: files.certificateFile },
  });
  await writeFile(files.keyFile, generatePrivateKey());
  await expect(obtainCertificate(files, NOW)).rejects.toMatchObject({
    code: 'CERTIFICATE_INVALID',
    message: expect.stringContaining('does not belong to the key'),
  });
  await writeFile(files.keyFile, 'garbage');
  await expect(obtainCertificate(files, NOW)).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    at: { file: files.keyFile },
  });
  await writeFile(files.certificateFile, 'garbage');
  await expect(obtainCertificate(files, NOW)).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    at: { file: files.certificateFile },
  });
  await expect(
    obtainCertificate({ ...files, certificateFile: join(folder.path, 'nowhere') }, NOW),
  ).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: 'there is no such file' });
});
