import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { REQUESTS_FOLDER } from '#bundles/formats/medium/medium';
import { parseCertificateRequest } from '#bundles/trust/root/certificate-request';
import { fingerprint } from '#bundles/trust/keys/key';

/** What somebody types who has compared the fingerprint of every request on a stick: `--accept` and each of them. */
export const acceptRequests = async (stick: string): Promise<readonly string[]> => {
  const folder = join(stick, REQUESTS_FOLDER);
  const names = (await readdir(folder)).filter((name) => /^[0-9a-f]{32}\.json$/.test(name));
  const accepted = await Promise.all(
    names.map(async (name) => {
      const { request } = JSON.parse(await readFile(join(folder, name), 'utf8')) as { request: string };
      return ['--accept', fingerprint(parseCertificateRequest(request).key)];
    }),
  );
  return accepted.flat();
};
