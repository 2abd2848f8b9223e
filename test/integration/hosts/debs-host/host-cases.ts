import { CONFFILE, deb, type DpkgCase, edited, reads, withConffile } from './dpkg-cases.ts';

const apt = (text: string): string => `cat > /etc/apt/apt.conf.d/case <<'END'\n${text}\nEND`;
const dpkg = (text: string): string => `printf '%s\\n' '${text}' > /etc/dpkg/dpkg.cfg.d/case`;
const FAILS = { postinst: 'exit 1' };
const state = (name: string, words: string): string =>
  `sed -i '/^Package: ${name}$/,/^$/s/^Status: .*/Status: install ${words}/' /var/lib/dpkg/status`;
const RELEASE = { debs: [deb('gauge', '1')] };
const INSTALLED = { next: RELEASE, plan: ['gauge 1'] };
/** A read-only file system that a hook of the host makes writable while dpkg works. */
const READ_ONLY = 'mkdir -p /srv/gauge && mount -t tmpfs -o ro gauge /srv/gauge';
const remount = (how: string): string => `mount -o remount,${how} /srv/gauge`;

/** What administrators have on their hosts: settings of apt and dpkg, broken packages, packages that need ours. */
export const HOST_CASES: readonly DpkgCase[] = [
  // Settings of apt.
  { title: 'a default release', here: apt('APT::Default-Release "stable";'), ...INSTALLED },
  {
    title: 'settings of apt-get that install nothing',
    here: apt(
      'APT::Get { Download-Only "true"; Assume-No "true"; Trivial-Only "true"; Show-Versions "true"; };\nDir::State::status "/dev/null";\nDPkg::Options { "--no-act"; };',
    ),
    ...INSTALLED,
  },
  {
    title: 'a pin below zero for every package',
    here: "printf 'Package: *\\nPin: release *\\nPin-Priority: -10\\n' > /etc/apt/preferences.d/case",
    ...INSTALLED,
  },
  {
    title: 'options for dpkg that keep conffiles',
    first: { debs: [withConffile('1', 'one')] },
    here: `${edited}; ${apt('DPkg::Options { "--force-confdef"; "--force-confold"; };')}`,
    next: { debs: [withConffile('2', 'two')], conffiles: 'replace' },
    plan: ['gauge 2'],
    holds: reads('two'),
  },
  {
    title: 'hooks that make a file system writable, and read-only again',
    here: `${READ_ONLY}; ${apt(`DPkg { Pre-Invoke { "${remount('rw')}"; }; Post-Invoke { "${remount('ro')}"; }; };`)}`,
    next: { debs: [deb('gauge', '1', { files: { '/srv/gauge/table': 'x' } })] },
    plan: ['gauge 1'],
    holds: 'test -e /srv/gauge/table && ! touch /srv/gauge/other && umount /srv/gauge',
  },
  {
    title: 'a hook that fails before dpkg',
    here: apt('DPkg::Pre-Invoke { "echo locked by the shift >&2; exit 4"; };'),
    next: RELEASE,
    plan: /^DEB_BLOCKED: apt or dpkg failed on this host: Problem executing scripts DPkg::Pre-Invoke/,
  },
  {
    title: 'a hook that fails after dpkg',
    here: apt('DPkg::Post-Invoke { "exit 4"; };'),
    ...INSTALLED,
  },
  {
    title: 'a file of apt that apt cannot read',
    here: apt('Unfinished "line'),
    next: RELEASE,
    plan: /^DEB_BLOCKED: apt cannot read its configuration on this host: Syntax error .*case/,
  },
  {
    title: 'maintainer scripts see the configuration of the host, not that of the step',
    next: {
      debs: [
        deb('gauge', '1', { scripts: { postinst: 'test -z "$APT_CONFIG"; apt-config dump > /run/unit' } }),
      ],
    },
    here: apt('Case::Is "here";'),
    plan: ['gauge 1'],
    holds: 'grep -q "Case::Is" /run/unit',
  },

  // Settings of dpkg.
  {
    title: 'dpkg.cfg that keeps conffiles',
    first: { debs: [withConffile('1', 'one')] },
    here: `${edited}; ${dpkg('force-confdef\nforce-confold')}`,
    next: { debs: [withConffile('2', 'two')], conffiles: 'replace' },
    plan: ['gauge 2'],
    holds: reads('two'),
  },
  {
    title: 'dpkg.cfg that replaces conffiles',
    first: { debs: [withConffile('1', 'one')] },
    here: `${edited}; ${dpkg('force-confnew')}`,
    next: { debs: [withConffile('2', 'two')], conffiles: 'keep' },
    plan: ['gauge 2'],
    holds: `${reads('mine')} && test "$(cat ${CONFFILE}.dpkg-dist)" = two`,
  },
  {
    title: 'dpkg.cfg that leaves files out',
    here: dpkg('path-exclude=/usr/share/gauge/*'),
    ...INSTALLED,
    holds: 'test -e /usr/share/gauge/version',
  },
  { title: 'dpkg.cfg that installs elsewhere', here: dpkg('root=/srv/elsewhere'), ...INSTALLED },
  {
    title: 'dpkg.cfg that forces everything',
    first: { debs: [deb('gauge', '1')] },
    here: dpkg('force-all'),
    next: {
      debs: [deb('gauge', '1'), deb('scale', '1', { files: { '/usr/share/gauge/version': 'of scale\n' } })],
    },
    plan: /^DEB_FAILED: scale: trying to overwrite/,
  },
  {
    title: 'dpkg.cfg with a line that dpkg does not know',
    here: dpkg('no-such-option'),
    next: RELEASE,
    plan: /^DEB_BLOCKED: apt or dpkg failed on this host: .*no-such-option/,
    broken: true,
  },
  {
    title: 'a mode of a file for an account that is gone',
    here: 'echo "nosuch root 644 /srv/table" >> /var/lib/dpkg/statoverride',
    next: RELEASE,
    plan: /^DEB_BLOCKED: apt or dpkg failed on this host: /,
    holds: 'sed -i /nosuch/d /var/lib/dpkg/statoverride',
  },
  {
    title: 'a diversion of the administrator',
    here: 'dpkg-divert --local --add --no-rename --divert /usr/share/gauge/version.mine /usr/share/gauge/version',
    ...INSTALLED,
    holds:
      'test -e /usr/share/gauge/version.mine && dpkg-divert --local --no-rename --remove /usr/share/gauge/version',
  },
  {
    title: 'another architecture beside that of the host',
    first: { debs: [deb('gauge', '1')] },
    here: 'dpkg --add-architecture i386',
    next: { debs: [deb('gauge', '2')] },
    plan: ['gauge 2'],
    holds: 'dpkg --remove-architecture i386',
  },

  // Broken packages of the host.
  {
    title: 'a package of the administrator that cannot be configured',
    admin: [deb('dial', '1', { scripts: FAILS })],
    broken: true,
    ...INSTALLED,
    holds: 'dpkg -s dial | grep -q half-configured',
  },
  {
    title: 'a package of the administrator that cannot be configured, and that the release needs',
    admin: [deb('dial', '1', { scripts: FAILS })],
    broken: true,
    next: { debs: [deb('gauge', '1', { depends: 'dial' })] },
    plan: /^DEB_BLOCKED: dial, which is not of this release, is half-configured: /,
  },
  {
    title: 'a package of the administrator that lacks a dependency',
    admin: [deb('dial', '1', { depends: 'nothere' })],
    broken: true,
    next: RELEASE,
    plan: /^DEB_BLOCKED: .* not of this release is in order: dial depends: nothere/,
  },
  {
    title: 'a package of the administrator that is half installed',
    admin: [deb('dial', '1')],
    here: state('dial', 'reinstreq half-installed'),
    broken: true,
    next: RELEASE,
    plan: /^DEB_BLOCKED: .* not of this release is in order: dial is half-installed/,
  },
  {
    title: 'a package of the administrator that fails when the release triggers it',
    admin: [
      deb('dial', '1', {
        scripts: { triggers: 'interest /usr/share/gauge', postinst: 'test "$1" != triggered' },
      }),
    ],
    broken: true,
    ...INSTALLED,
    also: ['dial 1 half-configured'],
  },
  {
    title: 'packages of the administrator of which one waits for a trigger of the other',
    admin: [deb('dial', '1', { scripts: { triggers: 'interest new-dial' } })],
    late: [deb('knob', '1', { scripts: { triggers: 'activate new-dial' } })],
    here: 'dpkg --no-triggers -i /media/late/*.deb; dpkg -s knob | grep triggers-awaited',
    ...INSTALLED,
    also: ['dial 1', 'knob 1'],
  },

  // Removing what the agent installed.
  ...['Essential: yes\n', 'Protected: yes\n', 'Important: yes\n'].map(
    (control): DpkgCase => ({
      title: `a package of an earlier release with ${control.trim()} is removed`,
      first: { debs: [deb('gauge', '1', { control })] },
      next: { debs: [deb('scale', '1')] },
      plan: ['gauge removed', 'scale 1'],
    }),
  ),
  {
    title: 'a package of an earlier release that the administrator holds is removed',
    first: { debs: [deb('gauge', '1')] },
    here: 'apt-mark hold gauge',
    next: { debs: [deb('scale', '1')] },
    plan: ['gauge removed', 'scale 1'],
  },
  {
    title: 'a package of an earlier release that is half installed is removed',
    first: { debs: [deb('gauge', '1')] },
    here: state('gauge', 'reinstreq half-installed'),
    next: { debs: [deb('scale', '1')] },
    plan: ['gauge removed', 'scale 1'],
  },
  {
    title: 'a package of an earlier release that one of the administrator needs stays, with the reason',
    first: { debs: [deb('gauge', '1')] },
    here: 'dpkg -i /media/late/*.deb',
    late: [deb('dial', '1', { depends: 'gauge' })],
    next: { debs: [deb('scale', '1')] },
    plan: /^DEB_FOREIGN: apt would change what is not of this package: dial 1 removed/,
  },
];
