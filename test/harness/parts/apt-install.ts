import { asRoot } from '../hosts/as-root.ts';
import { runOrFail } from '../run/run-command.ts';
import { orExplain } from './or-explain.ts';
import type { Machine } from './part.ts';

/** Installs Debian packages on the machine itself, for programs that need the libraries and files around them. */
export const aptInstall = async (names: readonly string[], machine: Machine): Promise<void> => {
  const apt = (...words: readonly string[]) =>
    runOrFail(
      asRoot([
        'env',
        'DEBIAN_FRONTEND=noninteractive',
        'apt-get',
        '--quiet',
        '--yes',
        '--option=DPkg::Lock::Timeout=300',
        ...words,
      ]),
      { signal: machine.signal },
    );
  await orExplain(`apt could not install ${names.join(', ')}`, async () => {
    await apt('update');
    await apt('install', '--no-install-recommends', ...names);
  });
};
