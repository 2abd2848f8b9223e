import { expect, it } from 'vitest';
import type { Clock, TrustState } from '#bundles/trust/accept/trust-state';
import type { Digest } from '#bundles/digest';
import type { SigningKey } from '#bundles/trust/keys/key';
import { publics } from '../root/new-key.ts';
import { verdict } from '../../verdict.ts';
import {
  enrolled,
  importMedium,
  type Medium,
  nextRelease,
  type ReleaseInput,
  release,
  releasePayload,
  root1,
  rootOf,
  sign,
  sitePayload,
} from './signed-world.ts';

/** The rows M of the attack table. What is expected stands in the title, and only there. */
export type Setting = {
  readonly state?: () => TrustState | Promise<TrustState>;
  readonly when?: Clock;
  readonly how?: Parameters<typeof importMedium>[3];
};

export const row = (title: string, medium: () => Medium | Promise<Medium>, setting: Setting = {}): void => {
  it(title, async () => {
    const state = (await setting.state?.()) ?? enrolled;
    const offered = await medium();
    expect(await verdict(() => importMedium(state, offered, setting.when, setting.how))).toBe(
      title.split(' -> ')[1],
    );
  });
};

/** A signature file taken apart, changed and put together again. */
export const edited = (file: Buffer, change: (json: ReturnType<typeof JSON.parse>) => void): Buffer => {
  const json = JSON.parse(file.toString());
  change(json);
  return Buffer.from(JSON.stringify(json));
};

export const signedRelease = async (
  change: ReleaseInput = {},
  ...keys: readonly SigningKey[]
): Promise<Buffer[]> => sign(releasePayload(change), ...(keys.length > 0 ? keys : [release]));

export const names = (digest: Digest): ReleaseInput => ({
  subjects: [{ name: 'bundle/host', digest }],
});

/** The release key replaced by the next one: root, site statement and what else is given signed anew. */
export const rotated = async (medium: Medium = {}): Promise<Medium> => ({
  roots: [root1, await rootOf(2, { keys: { release: publics([nextRelease]) } })],
  site: await sign(sitePayload(), nextRelease),
  ...medium,
});
