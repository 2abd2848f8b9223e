import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createCertificateRequest, parseCertificateRequest } from '#bundles/trust/root/certificate-request';
import { generatePrivateKey, loadSigningKey } from '#bundles/trust/keys/key';
import { findProgram } from '../../harness/run/find-program.ts';
import { runOrFail } from '../../harness/run/run-command.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';

const openssl = findProgram('openssl') ?? '';
const title = 'openssl, another reader and writer of certificate requests';

describe.skipIf(!openssl)(openssl ? title : `${title} (skipped: openssl is not installed)`, () => {
  const subject = { fleet: 'acme', site: 'plant-7', agent: 'line-1' };
  const pem = generatePrivateKey();
  const key = loadSigningKey(pem);

  it('openssl verifies our certificate request and finds the same names', async () => {
    const input = await createCertificateRequest(subject, key);
    const words = ['req', '-verify', '-noout', '-text', '-nameopt', 'RFC2253'];
    const { stdout, stderr } = await runOrFail([openssl, ...words], { input });
    expect(`${stdout}${stderr}`).toMatch(/verify OK/i);
    expect(stdout).toContain('Subject: CN=plant-7/line-1');
    expect(stdout).toContain('URI:fleet://acme/site/plant-7/agent/line-1');
    expect(stdout).toContain('prime256v1');
  });

  it('openssl writes a certificate request that parseCertificateRequest reads', async () => {
    await using folder = await temporaryDirectory('openssl');
    const file = join(folder.path, 'agent.key');
    await writeFile(file, pem, { mode: 0o600 });
    const subjectWords = ['-subj', String.raw`/CN=plant-7\/line-1`];
    const name = ['-addext', 'subjectAltName=URI:fleet://acme/site/plant-7/agent/line-1'];
    const { stdout } = await runOrFail([openssl, 'req', '-new', '-key', file, ...subjectWords, ...name]);
    const request = parseCertificateRequest(stdout);
    expect(request).toMatchObject(subject);
    expect(request.key.hint).toBe(key.public.hint);
  });
});
