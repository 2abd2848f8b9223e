import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runOrFail } from '../run/run-command.ts';

/** Files in PEM. */
export type Certificate = { readonly certificate: string; readonly key: string };

/** A private authority, made by openssl in `folder`. */
export const makeAuthority = async (folder: string, name = 'authority'): Promise<Certificate> => {
  const [certificate, key] = [join(folder, `${name}.pem`), join(folder, `${name}.key`)];
  const subject = ['-subj', `/CN=${name}`, '-addext', 'keyUsage=critical,keyCertSign,digitalSignature'];
  const words = ['-x509', '-nodes', '-days', '2', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'];
  await runOrFail(['openssl', 'req', ...words, ...subject, '-keyout', key, '-out', certificate]);
  return { certificate, key };
};

/** A server's certificate; `names` as openssl writes them: 'IP:127.0.0.1', 'DNS:registry.test'. */
export const makeCertificate = async (
  folder: string,
  authority: Certificate,
  names: readonly string[],
): Promise<Certificate> => {
  const [certificate, key] = [join(folder, 'server.pem'), join(folder, 'server.key')];
  const [request, extensions] = [join(folder, 'server.csr'), join(folder, 'server.cnf')];
  await writeFile(extensions, `subjectAltName=${names.join(',')}\n`);
  const words = ['-nodes', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-subj', '/CN=server'];
  await runOrFail(['openssl', 'req', ...words, '-keyout', key, '-out', request]);
  const signing = ['-CA', authority.certificate, '-CAkey', authority.key, '-CAcreateserial', '-days', '2'];
  await runOrFail([
    'openssl',
    'x509',
    '-req',
    '-in',
    request,
    ...signing,
    '-extfile',
    extensions,
    '-out',
    certificate,
  ]);
  return { certificate, key };
};
