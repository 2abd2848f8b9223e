import { createPublicKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isFleetError } from '#bundles/errors';
import { parseStrictJson } from '#bundles/json/strict-json';
import { parseCertificate, readIssuer } from '#bundles/trust/root/certificate';
import { parseCertificateRequest } from '#bundles/trust/root/certificate-request';
import { checkClientCertificate } from '#bundles/trust/root/check-certificate';
import { decodeDer } from '#bundles/trust/root/der';
import { parsePublicKey } from '#bundles/trust/keys/key';
import { file } from '../../bundles/golden-corpus.ts';
import { mutatePem } from '../mutate-der.ts';
import { insist, type Target } from '../target.ts';

const corpus = (name: string): Buffer => readFileSync(join(import.meta.dirname, '..', 'corpus', name));

const { request } = parseStrictJson(file('reports/request.json'), { maxBytes: 1 << 20 }) as {
  request: string;
};
const AUTHORITY = corpus('authority.pem').toString();
const AGENT = new X509Certificate(corpus('agent.pem'));
const NOW = new Date('2026-11-22T08:00:00Z');

const agentKey = AGENT.publicKey.export({ type: 'spki', format: 'der' });

export const IDENTITY: readonly Target[] = [
  {
    name: 'request',
    corpus: [Buffer.from(request)],
    mutate: mutatePem,
    run: (input) => {
      const { key, site, agent } = parseCertificateRequest(input.toString());
      const golden = parseCertificateRequest(request);
      // A change of a name in it needs a new signature by the key that it is for.
      insist(
        key.pem === golden.key.pem && site === golden.site && agent === golden.agent,
        'a forged request',
      );
    },
  },
  {
    name: 'certificate',
    corpus: ['agent.pem', 'server.pem', 'authority.pem'].map(corpus),
    mutate: mutatePem,
    run: (input) => {
      const certificate = parseCertificate(input.toString('latin1'), 'a certificate');
      try {
        readIssuer(certificate);
      } catch (error) {
        if (!isFleetError(error)) throw error;
      }
      const found = checkClientCertificate(certificate, {
        fleet: 'golden',
        authorities: [AUTHORITY],
        now: NOW,
      });
      const key = createPublicKey(found.key.pem).export({ type: 'spki', format: 'der' });
      insist(
        key.equals(agentKey) && found.agent === 'press-2',
        'a certificate that nobody issued was accepted',
      );
    },
  },
  {
    name: 'key',
    corpus: ['agent-press-2', 'root', 'bundle'].map((name) => file(`keys/${name}.pub`)),
    mutate: mutatePem,
    run: (input) => {
      const { pem } = parsePublicKey(input.toString('latin1'));
      insist(parsePublicKey(pem).pem === pem, 'a key has two spellings');
    },
  },
  {
    name: 'der',
    corpus: [corpus('agent.pem'), Buffer.from(request)],
    mutate: mutatePem,
    run: (input) => {
      const base64 = /-----\r?\n([^-]*)-----END/.exec(input.toString('latin1'))?.[1] ?? '';
      const bytes = Buffer.from(base64, 'base64');
      try {
        insist(decodeDer(bytes).raw.equals(bytes), 'bytes were left over');
      } catch (error) {
        // What it throws is said in its docstring; the parsers around it give that a code.
        if (!(error instanceof RangeError && error.message.startsWith('DER: '))) throw error;
      }
    },
  },
];
