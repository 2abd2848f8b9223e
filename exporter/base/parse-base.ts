import { FleetError } from '#bundles/errors';
import { type Channel, parseChannel, parseName } from '#bundles/names';

/** What `--for` names. */
export type BaseName =
  | { readonly kind: 'path'; readonly path: string }
  | { readonly kind: 'site'; readonly site: string }
  | { readonly kind: 'release'; readonly channel: Channel; readonly version: number };

/** A file of such a name is meant by './site:...'. @throws FleetError USAGE, NAME_INVALID */
export const parseBase = (text: string): BaseName => {
  if (text.startsWith('site:')) return { kind: 'site', site: parseName(text.slice('site:'.length), 'site') };
  if (!text.startsWith('release:')) return { kind: 'path', path: text };
  const [, channel, version] = /^release:([^@]+)@([1-9][0-9]{0,14})$/.exec(text) ?? [];
  if (channel !== undefined && version !== undefined)
    return { kind: 'release', channel: parseChannel(channel), version: Number(version) };
  throw new FleetError('USAGE', `--for ${text} names no release`, {
    hint: 'Write it as release:prod/kiosk@12, the number being the release that everybody has',
  });
};
