import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { generateIdentity, identityToRecipient } from 'age-encryption';
import { describe, expect, it } from 'vitest';
import { writeFileAtomically } from '#bundles/formats/layout/write-file';
import { bundleOf, KIOSK, makeWorld } from '../world.ts';
import { type Form, fillForm } from './fill-form.ts';
import { type Touch, watchChanges } from './watch-changes.ts';

/**
 * What a stick has when it is pulled, as on FAT under Linux, which is the worst: a file that was given another name is empty until
 * it is synced under that name; a name is there, or gone, when its folder is synced.
 */
const newStick = (folder: string) => {
  const empty = new Set<string>();
  const renamed = new Set<string>();
  const unnamed = new Set<string>();
  const unremoved = new Set<string>();
  /** Had two names for a moment: the next run removes one, and gives their blocks away. */
  const shared = new Set<string>();
  const name = (path: string): void => {
    unnamed.add(path);
    unremoved.delete(path);
  };
  const remove = (path: string): void => {
    if (!existsSync(path)) return;
    empty.delete(path);
    unnamed.delete(path);
    unremoved.add(path);
  };
  const sync = (path: string): void => {
    if (empty.delete(path) && renamed.delete(path) && unnamed.has(path)) shared.add(path);
    for (const names of [unnamed, unremoved])
      for (const one of names) if (dirname(one) === path) names.delete(one);
  };
  return {
    touch: ({ call, path: given, to, isOpen, reads }: Touch): void => {
      const path = resolve(given);
      if (!path.startsWith(`${folder}/`) && path !== folder) return;
      if (call === 'rename') {
        const final = resolve(to ?? '');
        remove(path);
        empty.add(final);
        renamed.add(final);
        name(final);
      } else if (call === 'mkdir' || (call === 'open' && !reads)) {
        if (!existsSync(path)) name(path);
      } else if (call === 'rm' || call === 'rmdir') remove(path);
      else if (isOpen && (call === 'write' || call === 'writev')) empty.add(path);
      else if (isOpen && (call === 'sync' || call === 'datasync')) sync(path);
    },
    /** What would be lost. */
    lost: () => ({
      empty: [...empty],
      unnamed: [...unnamed],
      unremoved: [...unremoved],
      shared: [...shared],
    }),
  };
};

const NOTHING = { empty: [], unnamed: [], unremoved: [], shared: [] };

let touched: ((touch: Touch) => void) | undefined;
await watchChanges((touch) => touched?.(touch));

const recipient = await identityToRecipient(await generateIdentity());

const FORMS: readonly Form[] = ['directory', 'tar', 'set', 'sealed'];

describe('a medium that is reported safe to unplug', () => {
  it.each(FORMS)('is durable with all its names, new and over an older one: %s', async (form) => {
    await using world = await makeWorld();
    const place = world.path('stick');
    await mkdir(place);
    const stick = newStick(place);
    const to = join(place, 'new', form === 'tar' ? 'medium.tar' : 'medium');
    try {
      for (const version of [1, 2]) {
        const bundle = {
          ...bundleOf(`release ${version}`),
          images: [{ name: 'web', layers: [Buffer.alloc(2 << 20, version)] }],
        };
        await world.layout.release({ channel: KIOSK, version, bundles: [bundle] });
        touched = stick.touch;
        const { written } = await fillForm(world.path('layout'), to, form, recipient, {}, 1 << 20);
        touched = undefined;
        expect(written).toBeGreaterThan(2 << 20);
        expect(stick.lost()).toEqual(NOTHING);
      }
    } finally {
      touched = undefined;
    }
  });

  it('without synced folder names would be found lost by this test', async () => {
    await using world = await makeWorld();
    const stick = newStick(world.path());
    touched = stick.touch;
    await mkdir(world.path('a'));
    await writeFile(world.path('a/file'), 'bytes');
    touched = undefined;
    expect(stick.lost()).toMatchObject({ unnamed: [world.path('a')] });
  });

  it('is durable with a report that an agent writes into a new folder', async () => {
    await using world = await makeWorld();
    const stick = newStick(world.path());
    touched = stick.touch;
    await writeFileAtomically(world.path('fleet/reports/agent/0001.json'), Buffer.from('{}'));
    touched = undefined;
    expect(stick.lost()).toEqual(NOTHING);
  });
});
