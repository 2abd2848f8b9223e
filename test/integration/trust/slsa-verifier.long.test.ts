import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { describeWith } from '../../harness/run/describe-with.ts';
import { type Outcome, runCommand, succeed } from '../../harness/run/run-command.ts';
import { promotedOffice } from './promoted-office.ts';

describeWith(['slsaVerifier'], 'slsa-verifier', ({ slsaVerifier }) => {
  it('accepts the summary of a bundle that passed qa with the release key alone, and refuses another key, bundle, level, environment or verifier', async () => {
    const { at, folder, summaries } = await promotedOffice();
    /** Runs the command of docs/promotion.md. @param more flags to replace */
    const verify = async (bundle: string, more: Readonly<Record<string, string>> = {}): Promise<Outcome> => {
      const wanted = {
        'attestation-path': 'summary.json',
        'subject-digest': bundle,
        'public-key-path': 'release.pub',
        'verifier-id': 'urn:fleet-ferry:fleet:halden',
        'resource-uri': 'urn:fleet-ferry:environment:halden:qa',
        'verified-level': 'FLEET_FERRY_PASSED_QA',
        ...more,
      };
      const words = Object.entries(wanted).flatMap(([flag, value]) => [`--${flag}`, value]);
      return runCommand([join(slsaVerifier, 'slsa-verifier'), 'verify-vsa', ...words], {
        cwd: folder,
        env: { PATH: process.env['PATH'], HOME: folder },
      });
    };
    expect(summaries.length).toBeGreaterThan(0);
    for (const { bundle, file } of summaries) {
      const { dsseEnvelope } = JSON.parse(await readFile(at(file), 'utf8')) as Record<string, unknown>;
      await writeFile(at('summary.json'), JSON.stringify(dsseEnvelope));
      expect(succeed(await verify(bundle)).stderr).toContain('Verifying VSA: PASSED');
      const refused = async (more: Readonly<Record<string, string>>): Promise<string> => {
        const { code, stderr } = await verify(bundle, more);
        expect(code).not.toBe(0);
        return stderr;
      };
      expect(await refused({ 'public-key-path': 'bundle.pub' })).toMatch(/signature/);
      expect(await refused({ 'subject-digest': `sha256:${'0'.repeat(64)}` })).toMatch(/digest not found/);
      expect(await refused({ 'verified-level': 'FLEET_FERRY_PASSED_PROD' })).toMatch(/level not found/);
      expect(await refused({ 'resource-uri': 'urn:fleet-ferry:environment:halden:prod' })).toMatch(
        /resource URI mismatch/,
      );
      expect(await refused({ 'verifier-id': 'urn:fleet-ferry:fleet:other' })).toMatch(/verifier ID mismatch/);
    }
  });
});
