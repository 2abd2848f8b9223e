import type { Layout } from '#bundles/formats/layout/layout';
import type { Channel } from '#bundles/names';
import type { TrustRoot } from '#bundles/trust/root/root';
import { registrationIn } from '../../load/platform/registration-in.ts';
import { readCurrentBase } from '../../load/releases/read-base.ts';
import { candidateOfRelease, declarationOf, type BuiltFrom } from './candidate-of-release.ts';

type Previous = { readonly layout: Layout; readonly roots: readonly TrustRoot[] };

/**
 * Finds the registration whose application declared a package of a channel's last release. Reads nothing before the first question.
 * @returns undefined for a package of which no candidate says so
 */
export const openRegistrations = (
  { layout, roots }: Previous,
  channel: Channel,
  signal: AbortSignal,
): ((id: string) => Promise<string | undefined>) => {
  const read = async (): Promise<BuiltFrom | undefined> => {
    const { release } = await readCurrentBase(layout, channel, roots);
    return release && (await candidateOfRelease(layout, channel, release.documents, { roots, signal }));
  };
  let made: Promise<BuiltFrom | undefined> | undefined;
  return async (id) => {
    made ??= read();
    const last = await made;
    if (!last) return undefined;
    const declared = await declarationOf(layout, last, { clusterType: channel.clusterType, id }, signal);
    return registrationIn([last.candidate, ...declared], id);
  };
};
