import { nameSome } from '#bundles/name-some';
import type { Config } from '../../config/config.ts';
import type { NotAdmitted, Reported, Taken } from './progress.ts';

/** The sentences of the sign, for a technician. Parameters are names, numbers and messages of errors. */
type Sentences = {
  readonly heading: Readonly<Record<'done' | 'attention' | 'stopped', string>>;
  readonly installed: (release: number) => string;
  readonly nothingNew: string;
  readonly failed: (names: string) => string;
  readonly held: (names: string) => string;
  readonly refused: Readonly<
    Record<'otherSite' | 'otherFleet' | 'older' | 'parts' | 'empty' | 'other', string>
  >;
  readonly unreadable: string;
  readonly unmountable: string;
  readonly interrupted: string;
  readonly notAdmitted: (why: NotAdmitted) => string;
  readonly written: (events: number) => string;
  readonly full: string;
  readonly readOnly: string;
  readonly reportsFailed: string;
  readonly unplug: string;
  readonly mounted: string;
};

const ENGLISH: Sentences = {
  heading: { done: 'DONE', attention: 'DONE, BUT CALL THE OFFICE', stopped: 'NOT DONE' },
  installed: (release) => `Release ${release} is installed.`,
  nothingNew: 'The stick has nothing new for this machine.',
  failed: (names) => `These packages failed: ${names}.`,
  held: (names) => `These packages are held back: ${names}.`,
  refused: {
    otherSite: 'The stick is for another site. Take the stick of this plant.',
    otherFleet: 'The stick is not for this machine. Take the right stick, or call the office.',
    older: 'A newer release was installed before. Take the newer stick.',
    parts: 'The rest is on another stick. Plug in the next stick.',
    empty: 'The stick has not been filled. Carry it to the office.',
    other: 'The stick was refused and nothing was changed. Call the office.',
  },
  unreadable:
    'The stick was pulled out too early or cannot be read. Plug it in again; if that fails, use another stick.',
  unmountable: 'The stick cannot be opened: its file system is damaged. Use another stick.',
  interrupted: 'The work was interrupted. Plug the stick in again.',
  notAdmitted: (why) => {
    switch (why.kind) {
      case 'encrypted':
        return 'The stick is encrypted as a whole and cannot be opened here. Take one without a password.';
      case 'file-system':
        return `The stick is formatted with ${why.fileSystem}. Allowed here: ${why.allowed.join(', ')}.`;
      case 'too-large':
        return `The stick is larger than the ${why.gib} GiB that are allowed here.`;
      case 'in-use':
        return `Another program of this machine has opened the stick (${why.at}). Eject it there and plug it in again; if that fails, call the office.`;
      case 'configuration':
        return `The settings of this machine are invalid, so the stick was not read. Call the office. (${why.message})`;
    }
  },
  written: (events) =>
    events === 0 ? 'There is nothing to report.' : `${events} events for the office are on the stick.`,
  full: 'The stick is full: the reports are not on it. Nothing is lost; bring an empty stick.',
  readOnly: 'The stick is write-protected: the reports are not on it. Unlock it and plug it in again.',
  reportsFailed: 'The reports are not on the stick. Call the office.',
  unplug: 'You can unplug the stick.',
  mounted: 'The stick is still in use: shut the machine down before you unplug it.',
};

const GERMAN: Sentences = {
  heading: { done: 'FERTIG', attention: 'FERTIG, ABER BITTE ZENTRALE ANRUFEN', stopped: 'NICHT ERLEDIGT' },
  installed: (release) => `Version ${release} ist installiert.`,
  nothingNew: 'Der Stick enthält nichts Neues für diese Maschine.',
  failed: (names) => `Diese Pakete sind fehlgeschlagen: ${names}.`,
  held: (names) => `Diese Pakete werden zurückgehalten: ${names}.`,
  refused: {
    otherSite: 'Der Stick ist für einen anderen Standort. Bitte den Stick dieses Werks nehmen.',
    otherFleet:
      'Der Stick ist nicht für diese Maschine. Bitte den richtigen nehmen oder die Zentrale anrufen.',
    older: 'Eine neuere Version wurde schon installiert. Bitte den neueren Stick nehmen.',
    parts: 'Der Rest ist auf einem anderen Stick. Bitte den nächsten einstecken.',
    empty: 'Der Stick ist nicht befüllt. Bitte zur Zentrale bringen.',
    other: 'Der Stick wurde abgelehnt, nichts wurde geändert. Bitte die Zentrale anrufen.',
  },
  unreadable:
    'Der Stick wurde zu früh abgezogen oder ist nicht lesbar. Bitte noch einmal einstecken; wenn das nicht hilft, einen anderen nehmen.',
  unmountable:
    'Der Stick lässt sich nicht öffnen: sein Dateisystem ist beschädigt. Bitte einen anderen nehmen.',
  interrupted: 'Der Vorgang wurde unterbrochen. Bitte den Stick noch einmal einstecken.',
  notAdmitted: (why) => {
    switch (why.kind) {
      case 'encrypted':
        return 'Der ganze Stick ist verschlüsselt und kann hier nicht geöffnet werden. Bitte einen ohne Passwort nehmen.';
      case 'file-system':
        return `Der Stick ist mit ${why.fileSystem} formatiert. Hier erlaubt: ${why.allowed.join(', ')}.`;
      case 'too-large':
        return `Der Stick ist größer als die hier erlaubten ${why.gib} GiB.`;
      case 'in-use':
        return `Ein anderes Programm dieser Maschine hat den Stick geöffnet (${why.at}). Bitte dort auswerfen und noch einmal einstecken; wenn das nicht hilft, die Zentrale anrufen.`;
      case 'configuration':
        return `Die Einstellungen dieser Maschine sind ungültig, der Stick wurde nicht gelesen. Bitte die Zentrale anrufen. (${why.message})`;
    }
  },
  written: (events) =>
    events === 0
      ? 'Es gibt nichts zu berichten.'
      : `${events} Meldungen für die Zentrale sind auf dem Stick.`,
  full: 'Der Stick ist voll: die Berichte sind nicht darauf. Nichts ist verloren; bitte einen leeren bringen.',
  readOnly:
    'Der Stick ist schreibgeschützt: die Berichte sind nicht darauf. Bitte entsperren und neu einstecken.',
  reportsFailed: 'Die Berichte sind nicht auf dem Stick. Bitte die Zentrale anrufen.',
  unplug: 'Der Stick kann abgezogen werden.',
  mounted: 'Der Stick ist noch in Gebrauch: bitte die Maschine ausschalten, bevor er abgezogen wird.',
};

const SENTENCES: Readonly<Record<Config['language'], Sentences>> = { en: ENGLISH, de: GERMAN };

export const sentencesOf = (language: Config['language']): Sentences => SENTENCES[language];

/** One sentence for people about the result of an import; undefined for a medium of another fleet or format. */
export const describeImportResult = (words: Sentences, taken: Taken): readonly string[] => {
  switch (taken.kind) {
    case 'applied': {
      const { release, failed, held } = taken;
      const isBad = failed.length > 0 || held.length > 0;
      if (!isBad) return [release === undefined ? words.nothingNew : words.installed(release)];
      return [
        ...(failed.length > 0 ? [words.failed(nameSome(failed))] : []),
        ...(held.length > 0 ? [words.held(nameSome(held))] : []),
      ];
    }
    case 'refused':
      return [words.refused[REFUSALS.get(taken.code) ?? 'other'], `(${taken.code}: ${taken.message})`];
    case 'unreadable':
      return [words.unreadable];
    case 'foreign':
      return [];
  }
};

const REFUSALS: ReadonlyMap<string, keyof Sentences['refused']> = new Map([
  ['WRONG_SITE', 'otherSite'],
  ['WRONG_FLEET', 'otherFleet'],
  ['WRONG_CHANNEL', 'otherFleet'],
  ['ROLLBACK', 'older'],
  ['PARTS_MISSING', 'parts'],
  ['MEDIUM_EMPTY', 'empty'],
]);

export const describeReported = (words: Sentences, reported: Reported): string => {
  switch (reported.kind) {
    case 'written':
      return words.written(reported.events);
    case 'full':
      return words.full;
    case 'read-only':
      return words.readOnly;
    case 'unreadable':
      return words.unreadable;
    case 'failed':
      return `${words.reportsFailed} (${reported.code}: ${reported.message})`;
  }
};
