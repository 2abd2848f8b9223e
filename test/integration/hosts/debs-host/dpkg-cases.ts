import type { DebPolicies, TestDeb } from './test-deb.ts';

/** Debian packages of one release, and how they are installed. */
export type DebRelease = DebPolicies & { readonly debs: readonly TestDeb[] };

/**
 * A situation that dpkg's own functional tests cover, with packages of ours. The agent applies `first`, something may happen `here`,
 * and it applies `next`.
 */
export type DpkgCase = {
  readonly title: string;
  /** Packages that the administrator of the host installed. */
  readonly admin?: readonly TestDeb[];
  /** Set if dpkg cannot install them, and a package of the host stays broken. */
  readonly broken?: true;
  /** Packages that `here` finds in /media/late. */
  readonly late?: readonly TestDeb[];
  readonly first?: DebRelease;
  /** A shell script at the host between the two. */
  readonly here?: string;
  readonly next: DebRelease;
  /** What the plan announces, which must be what dpkg does; or how the release fails. */
  readonly plan: readonly string[] | RegExp;
  /** What dpkg does beside the plan, which repairs the host. */
  readonly also?: readonly string[];
  /** What going back cannot restore. */
  readonly lost?: readonly string[];
  /** Succeeds on the host afterwards. */
  readonly holds?: string;
};

export const deb = (name: string, version: string, more: Partial<TestDeb> = {}): TestDeb => ({
  name,
  version,
  files: { [`/usr/share/${name}/version`]: `${version}\n` },
  ...more,
});

export const CONFFILE = '/etc/gauge.conf';
export const withConffile = (version: string, text: string, more: Partial<TestDeb> = {}): TestDeb =>
  deb('gauge', version, { files: { [CONFFILE]: `${text}\n` }, conffiles: [CONFFILE], ...more });
export const edited = `echo mine > ${CONFFILE}`;
export const reads = (text: string): string => `test "$(cat ${CONFFILE})" = "${text}"`;

/** Another name's file, which `scale` takes over. */
const SHARED = { '/usr/share/gauge/table': 'of scale\n' };
const gaugeWithTable = deb('gauge', '1', {
  files: { '/usr/share/gauge/table': 'of gauge\n', '/usr/share/gauge/version': '1\n' },
});

const virtual = (name: string, more = ''): TestDeb => deb(name, '1', { control: `Provides: meter\n${more}` });
const needsMeter = deb('scale', '1', { depends: 'meter' });

/** Records in /run/triggered what it is triggered for. */
const triggered = (triggers: string, more = ''): TestDeb =>
  deb('gauge', '1', {
    scripts: {
      triggers,
      postinst: `test "$1" != triggered || { echo "$2" >> /run/triggered; ${more || ':'}; }`,
    },
  });

/** Fails as long as `scale` is there. */
const FAILS = 'test ! -e /usr/share/scale/version || exit 5';

const withUnit = (version: string): TestDeb =>
  deb('gauge', version, {
    files: {
      '/lib/systemd/system/gauge.service':
        '[Service]\nExecStart=/bin/sleep 1000\n[Install]\nWantedBy=multi-user.target\n',
    },
    scripts: {
      postinst:
        'deb-systemd-helper enable gauge.service\nsystemctl daemon-reload\ndeb-systemd-invoke restart gauge.service',
      prerm: 'test "$1" != remove || deb-systemd-invoke stop gauge.service',
      postrm: 'test "$1" != purge || deb-systemd-helper purge gauge.service',
    },
  });

const asks: TestDeb = deb('gauge', '1', {
  depends: 'debconf',
  scripts: {
    templates: 'Template: gauge/unit\nType: string\nDefault: bar\nDescription: Unit\n',
    config: '. /usr/share/debconf/confmodule\ndb_input high gauge/unit || true\ndb_go',
    postinst: '. /usr/share/debconf/confmodule\ndb_get gauge/unit\necho "$RET" > /run/unit\ndb_stop',
    postrm: 'test "$1" != purge || { . /usr/share/debconf/confmodule; db_purge; }',
  },
});

export const DPKG_CASES: readonly DpkgCase[] = [
  // Dependencies.
  {
    title: 'a release with a newer dependency upgrades both',
    first: { debs: [deb('scale', '1', { depends: 'gauge (= 1)' }), deb('gauge', '1')] },
    next: { debs: [deb('scale', '2', { depends: 'gauge (= 2)' }), deb('gauge', '2')] },
    plan: ['gauge 2', 'scale 2'],
  },
  {
    title: 'packages that depend on each other',
    next: { debs: [deb('scale', '1', { depends: 'gauge' }), deb('gauge', '1', { depends: 'scale' })] },
    plan: ['gauge 1', 'scale 1'],
  },
  {
    title: 'a Pre-Depends is configured before the package is unpacked',
    next: {
      debs: [
        deb('scale', '1', {
          control: 'Pre-Depends: gauge\n',
          scripts: { preinst: 'test -e /run/gauge-configured' },
        }),
        deb('gauge', '1', { scripts: { postinst: 'touch /run/gauge-configured' } }),
      ],
    },
    plan: ['gauge 1', 'scale 1'],
  },
  {
    title: 'a dependency that is missing in the release',
    next: { debs: [deb('scale', '1', { depends: 'gauge (>= 2)' }), deb('gauge', '1')] },
    plan: /^DEB_UNMET: .*scale depends: gauge \(>= 2\)/,
  },
  {
    title: 'versions with epoch and tilde are ordered as dpkg orders them',
    first: { debs: [deb('gauge', '2'), deb('scale', '1.0~rc1')] },
    next: { debs: [deb('gauge', '1:1'), deb('scale', '1.0')] },
    plan: ['gauge 1:1', 'scale 1.0'],
  },
  {
    title: 'a release with an older version downgrades',
    first: { debs: [deb('gauge', '2')] },
    next: { debs: [deb('gauge', '1')] },
    plan: ['gauge 1'],
  },

  // Provides.
  {
    title: 'a virtual package is provided',
    next: { debs: [needsMeter, virtual('gauge')] },
    plan: ['gauge 1', 'scale 1'],
  },
  {
    title: 'the provider of a virtual package is exchanged under the package that needs it',
    first: { debs: [needsMeter, virtual('gauge', 'Conflicts: meter\nReplaces: meter\n')] },
    next: { debs: [needsMeter, virtual('dial', 'Conflicts: meter\nReplaces: meter\n')] },
    plan: ['dial 1', 'gauge removed'],
  },
  {
    title: 'a versioned Provides satisfies a versioned dependency',
    next: {
      debs: [
        deb('scale', '1', { depends: 'meter (>= 2)' }),
        deb('gauge', '1', { control: 'Provides: meter (= 2.1)\n' }),
      ],
    },
    plan: ['gauge 1', 'scale 1'],
  },
  {
    title: 'a Provides without a version satisfies no versioned dependency',
    next: { debs: [deb('scale', '1', { depends: 'meter (>= 2)' }), virtual('gauge')] },
    plan: /^DEB_UNMET: .*scale depends: meter \(>= 2\)/,
  },
  {
    title: 'a package may provide and conflict with its own name',
    next: { debs: [deb('gauge', '1', { control: 'Provides: gauge\nConflicts: gauge\n' })] },
    plan: ['gauge 1'],
  },

  // Conflicts and Breaks.
  {
    title: 'a package of the release that conflicts with one that leaves',
    first: { debs: [deb('gauge', '1')] },
    next: { debs: [deb('scale', '1', { control: 'Conflicts: gauge\n' })] },
    plan: ['gauge removed', 'scale 1'],
  },
  {
    title: 'two packages of one release that conflict',
    next: { debs: [deb('gauge', '1'), deb('scale', '1', { control: 'Conflicts: gauge\n' })] },
    plan: /^DEB_UNMET: .*scale conflicts: gauge/,
  },
  {
    title: 'a package that conflicts with one of the administrator',
    admin: [deb('gauge', '1')],
    next: { debs: [deb('scale', '1', { control: 'Conflicts: gauge\n' })] },
    plan: /^DEB_FOREIGN: .*gauge 1 removed/,
  },
  {
    title: 'a package that breaks an older one is installed with the newer one',
    first: { debs: [deb('gauge', '1')] },
    next: { debs: [deb('gauge', '2'), deb('scale', '1', { control: 'Breaks: gauge (<< 2)\n' })] },
    plan: ['gauge 2', 'scale 1'],
  },
  {
    title: 'a package that breaks one of the administrator',
    admin: [deb('gauge', '1')],
    next: { debs: [deb('scale', '1', { control: 'Breaks: gauge\n' })] },
    plan: /^DEB_FOREIGN: .*gauge 1 removed/,
  },
  {
    title: 'a package that conflicts with an essential one',
    next: { debs: [deb('scale', '1', { control: 'Conflicts: dash\n' })] },
    plan: /^DEB_(?:UNMET|FOREIGN): /,
    holds: 'dpkg -s dash | grep -q "ok installed"',
  },
  {
    title: 'an upgrade that the administrator put on hold',
    first: { debs: [deb('gauge', '1')] },
    here: 'apt-mark hold gauge',
    next: { debs: [deb('gauge', '2')] },
    plan: ['gauge 2'],
    holds: 'test -z "$(apt-mark showhold)"',
  },

  // Files of other packages.
  {
    title: 'a file of another package without Replaces',
    first: { debs: [gaugeWithTable] },
    next: { debs: [gaugeWithTable, deb('scale', '1', { files: SHARED })] },
    plan: /^DEB_FAILED: .*trying to overwrite '\/usr\/share\/gauge\/table', which is also in package gauge \(?1\)?/,
    holds: 'test "$(cat /usr/share/gauge/table)" = "of gauge"',
  },
  {
    title: 'a file of another package with Replaces',
    first: { debs: [gaugeWithTable] },
    next: { debs: [gaugeWithTable, deb('scale', '1', { files: SHARED, control: 'Replaces: gauge\n' })] },
    plan: ['scale 1'],
    holds: 'dpkg -S /usr/share/gauge/table | grep -q ^scale:',
  },
  {
    title: 'a file that moves to another package in an upgrade of both',
    first: { debs: [gaugeWithTable] },
    next: {
      debs: [
        deb('gauge', '2'),
        deb('scale', '1', { files: SHARED, control: 'Replaces: gauge (<< 2)\nBreaks: gauge (<< 2)\n' }),
      ],
    },
    plan: ['gauge 2', 'scale 1'],
    holds: 'dpkg -S /usr/share/gauge/table | grep -q ^scale:',
  },
  {
    title: 'a package of the administrator that disappears because another has all its files',
    admin: [deb('gauge', '1', { files: { '/usr/share/gauge/table': 'of gauge\n' } })],
    next: { debs: [deb('scale', '1', { files: SHARED, control: 'Replaces: gauge\n' })] },
    plan: /^DEB_FAILED: gauge 1 disappeared: packages of the release replaced all its files/,
    lost: ['gauge removed'],
  },
  {
    title: 'a diversion of a file of another package',
    first: { debs: [gaugeWithTable] },
    next: {
      debs: [
        gaugeWithTable,
        deb('scale', '1', {
          files: SHARED,
          scripts: {
            preinst:
              'dpkg-divert --package scale --add --rename --divert /usr/share/gauge/table.orig /usr/share/gauge/table',
            postrm:
              'test "$1" != remove || dpkg-divert --package scale --remove --rename --divert /usr/share/gauge/table.orig /usr/share/gauge/table',
          },
        }),
      ],
    },
    plan: ['scale 1'],
    holds: 'test "$(cat /usr/share/gauge/table.orig)" = "of gauge"',
  },
  {
    title: 'a directory that becomes a symbolic link',
    first: { debs: [deb('gauge', '1', { files: { '/usr/share/gauge/data/table': 'old\n' } })] },
    next: {
      debs: [
        deb('gauge', '2', {
          files: { '/usr/share/gauge/new/table': 'new\n' },
          links: { '/usr/share/gauge/data': 'new' },
          scripts: Object.fromEntries(
            (['preinst', 'postinst', 'postrm'] as const).map((script) => [
              script,
              'dpkg-maintscript-helper dir_to_symlink /usr/share/gauge/data new 2 gauge -- "$@"',
            ]),
          ),
        }),
      ],
    },
    plan: ['gauge 2'],
    holds: 'test -L /usr/share/gauge/data && test "$(cat /usr/share/gauge/data/table)" = new',
  },

  // Disks.
  {
    title: 'a full disk',
    first: { debs: [deb('gauge', '1')] },
    here: 'mkdir -p /srv/gauge && mount -t tmpfs -o size=64k tmpfs /srv/gauge',
    next: { debs: [deb('gauge', '2', { files: { '/srv/gauge/table': 'x'.repeat(1 << 20) } })] },
    plan: /^DISK_FULL: gauge: .*No space left on device/,
    holds: 'umount /srv/gauge',
  },
  {
    title: 'a read-only disk',
    first: { debs: [deb('gauge', '1')] },
    here: 'mkdir -p /srv/gauge && mount -t tmpfs -o ro tmpfs /srv/gauge',
    next: { debs: [deb('gauge', '2', { files: { '/srv/gauge/table': 'x' } })] },
    plan: /^DEB_FAILED: gauge: .*Read-only file system/,
    holds: 'umount /srv/gauge',
  },

  // Conffiles.
  {
    title: 'a conffile that was changed on both sides is kept, with the new one beside it',
    first: { debs: [withConffile('1', 'one')] },
    here: edited,
    next: { debs: [withConffile('2', 'two')], conffiles: 'keep' },
    plan: ['gauge 2'],
    holds: `${reads('mine')} && test "$(cat ${CONFFILE}.dpkg-dist)" = two`,
  },
  {
    title: 'a conffile that was changed on both sides is replaced, with the old one beside it',
    first: { debs: [withConffile('1', 'one')] },
    here: edited,
    next: { debs: [withConffile('2', 'two')], conffiles: 'replace' },
    plan: ['gauge 2'],
    holds: `${reads('two')} && test "$(cat ${CONFFILE}.dpkg-old)" = mine`,
  },
  {
    title: 'a conffile that was changed in the package alone is the new one',
    first: { debs: [withConffile('1', 'one')] },
    next: { debs: [withConffile('2', 'two')], conffiles: 'keep' },
    plan: ['gauge 2'],
    holds: reads('two'),
  },
  {
    title: 'a conffile that was removed here stays removed with keep',
    first: { debs: [withConffile('1', 'one')] },
    here: `rm ${CONFFILE}`,
    next: { debs: [withConffile('2', 'two')], conffiles: 'keep' },
    plan: ['gauge 2'],
    holds: `test ! -e ${CONFFILE}`,
  },
  {
    title: 'a conffile that was removed here comes back with replace',
    first: { debs: [withConffile('1', 'one')] },
    here: `rm ${CONFFILE}`,
    next: { debs: [withConffile('2', 'two')], conffiles: 'replace' },
    plan: ['gauge 2'],
    holds: reads('two'),
  },
  {
    title: 'a conffile that the package no longer has stays',
    first: { debs: [withConffile('1', 'one')] },
    next: { debs: [deb('gauge', '2')] },
    plan: ['gauge 2'],
    holds: reads('one'),
  },
  {
    title: 'a conffile that moves to another package keeps its change',
    first: { debs: [withConffile('1', 'one')] },
    here: edited,
    next: {
      debs: [
        deb('gauge', '2'),
        deb('scale', '1', {
          files: { [CONFFILE]: 'two\n' },
          conffiles: [CONFFILE],
          control: 'Replaces: gauge (<< 2)\nBreaks: gauge (<< 2)\n',
        }),
      ],
      conffiles: 'keep',
    },
    plan: ['gauge 2', 'scale 1'],
    holds: `${reads('mine')} && dpkg-query -W -f '\${Conffiles}' scale | grep -q ${CONFFILE}`,
  },
  {
    title: 'a conffile that is renamed takes its change along',
    first: { debs: [withConffile('1', 'one')] },
    here: edited,
    next: {
      debs: [
        deb('gauge', '2', {
          files: { '/etc/gauge/main.conf': 'two\n' },
          conffiles: ['/etc/gauge/main.conf'],
          scripts: Object.fromEntries(
            (['preinst', 'postinst', 'postrm'] as const).map((script) => [
              script,
              `dpkg-maintscript-helper mv_conffile ${CONFFILE} /etc/gauge/main.conf 2~ gauge -- "$@"`,
            ]),
          ),
        }),
      ],
    },
    plan: ['gauge 2'],
    holds: `test "$(cat /etc/gauge/main.conf)" = mine && test ! -e ${CONFFILE}`,
  },

  // Maintainer scripts.
  {
    title: 'a preinst that fails leaves the older version',
    first: { debs: [deb('gauge', '1')] },
    next: { debs: [deb('gauge', '2', { scripts: { preinst: 'test "$1" != upgrade' } })] },
    plan: /^DEB_FAILED: gauge: .*(?:pre-installation|preinst) .*exit status 1/,
  },
  {
    title: 'a prerm that fails is followed by that of the newer version',
    first: { debs: [deb('gauge', '1', { scripts: { prerm: 'test "$1" != upgrade' } })] },
    next: { debs: [deb('gauge', '2', { scripts: { prerm: 'test "$1" != upgrade' } })] },
    plan: ['gauge 2'],
  },
  {
    title: 'a prerm that fails without one in the newer version',
    first: { debs: [deb('gauge', '1', { scripts: { prerm: 'test "$1" != upgrade' } })] },
    next: { debs: [deb('gauge', '2')] },
    plan: /^DEB_FAILED: gauge: (?:there is no script in the new version of the package -|missing prerm maintainer script in new gauge package,) giving up/,
  },
  {
    title: 'a postinst that fails',
    first: { debs: [deb('gauge', '1')] },
    next: { debs: [deb('gauge', '2', { scripts: { postinst: 'exit 3' } })] },
    plan: /^DEB_FAILED: gauge: .*(?:post-installation|postinst) .*exit status 3/,
  },
  {
    title: 'a prerm that refuses the removal',
    first: {
      debs: [deb('gauge', '1', { scripts: { prerm: 'test ! -e /run/refuse || test "$1" != remove' } })],
    },
    here: 'touch /run/refuse',
    next: { debs: [deb('scale', '1')] },
    plan: /^DEB_FAILED: gauge: .*(?:pre-removal|prerm) .*exit status 1/,
  },
  {
    title: 'a question is answered by the release',
    next: {
      debs: [asks],
      debconf: [{ package: 'gauge', question: 'gauge/unit', type: 'string', value: 'kPa of the line' }],
    },
    plan: ['gauge 1'],
    holds: 'test "$(cat /run/unit)" = "kPa of the line"',
  },
  {
    title: 'an answer that ends in a backslash leaves the next one as it is',
    next: {
      debs: [asks],
      debconf: [
        { package: 'gauge', question: 'gauge/share', type: 'string', value: 'P:\\' },
        { package: 'gauge', question: 'gauge/unit', type: 'string', value: 'kPa' },
      ],
    },
    plan: ['gauge 1'],
    holds: 'test "$(cat /run/unit) $(echo GET gauge/share | debconf-communicate)" = "kPa 0 P:\\\\"',
  },
  {
    title: 'a question without an answer gets its default',
    next: { debs: [asks] },
    plan: ['gauge 1'],
    holds: 'test "$(cat /run/unit)" = bar',
  },
  {
    title: 'maintainer scripts start services',
    next: { debs: [withUnit('1')], services: 'start' },
    plan: ['gauge 1'],
    holds: 'systemctl is-active gauge',
  },
  {
    title: 'maintainer scripts start no services with leave',
    next: { debs: [withUnit('1')], services: 'leave' },
    plan: ['gauge 1'],
    holds: '! systemctl is-active gauge && test ! -e /usr/sbin/policy-rc.d',
  },
  {
    title: 'maintainer scripts restart no service with leave',
    first: { debs: [withUnit('1')], services: 'start' },
    here: 'systemctl show -P MainPID gauge > /run/before',
    next: { debs: [withUnit('2')], services: 'leave' },
    plan: ['gauge 2'],
    holds: 'test "$(systemctl show -P MainPID gauge)" = "$(cat /run/before)"',
  },

  // Triggers.
  {
    title: 'a file trigger runs the postinst of the package that is interested',
    first: { debs: [triggered('interest /usr/share/menus')] },
    next: {
      debs: [
        triggered('interest /usr/share/menus'),
        deb('scale', '1', { files: { '/usr/share/menus/scale': 'x\n' } }),
      ],
    },
    plan: ['scale 1'],
    holds: 'test "$(cat /run/triggered)" = /usr/share/menus',
  },
  {
    title: 'a named trigger that another package activates',
    first: { debs: [triggered('interest new-menu')] },
    next: {
      debs: [
        triggered('interest new-menu'),
        deb('scale', '1', { scripts: { triggers: 'activate new-menu' } }),
      ],
    },
    plan: ['scale 1'],
    holds: 'test "$(cat /run/triggered)" = new-menu',
  },
  {
    title: 'a trigger that is not awaited',
    first: { debs: [triggered('interest-noawait new-menu')] },
    next: {
      debs: [
        triggered('interest-noawait new-menu'),
        deb('scale', '1', { scripts: { postinst: 'dpkg-trigger --no-await new-menu' } }),
      ],
    },
    plan: ['scale 1'],
    holds: 'test "$(cat /run/triggered)" = new-menu',
  },
  {
    title: 'a trigger whose processing fails names the package that is interested',
    first: { debs: [triggered('interest new-menu', FAILS)] },
    next: {
      debs: [
        triggered('interest new-menu', FAILS),
        deb('scale', '1', { scripts: { triggers: 'activate new-menu' } }),
      ],
    },
    plan: /^DEB_FAILED: gauge: .*(?:post-installation|postinst) .*exit status 5/,
  },
  {
    title: 'a package whose trigger activates itself through another one',
    first: { debs: [triggered('interest /usr/share/menus')] },
    next: {
      debs: [
        triggered('interest /usr/share/menus'),
        deb('scale', '1', {
          depends: 'gauge',
          files: { '/usr/share/menus/scale': 'x\n' },
          scripts: { triggers: 'interest /usr/share/scale' },
        }),
      ],
    },
    plan: ['scale 1'],
    holds: 'dpkg -s scale | grep -q "install ok installed"',
  },
];
