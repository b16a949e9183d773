/**
 * A page in several languages: which one is in use, and what to say in it.
 *
 * Elements with `data-word` get the text of that key, those with `data-label` their accessible name.
 * Times, units and names of rungs are the same in every language.
 */

/** @typedef {Record<string, string>} Dictionary */

const KEPT = 'abr-tts.language';

export class Words extends EventTarget {
  /** @type {Record<string, Dictionary>} */
  #texts;
  language = 'en';

  /** @param {Record<string, Dictionary>} texts by language; English has every key. */
  constructor(texts) {
    super();
    this.#texts = texts;
  }

  /** The language that was chosen here before, else the browser's, else English. */
  static preferred() {
    const wanted = [kept(), ...navigator.languages].map((tag) => (tag ?? '').slice(0, 2).toLowerCase());
    return wanted.find((tag) => tag === 'zh' || tag === 'en') ?? 'en';
  }

  /**
   * The text of a key; `{name}` in it becomes the value of that name.
   *
   * @param {string} key
   * @param {Record<string, string | number>} [values]
   */
  say(key, values = {}) {
    const text = this.#texts[this.language][key] ?? this.#texts.en[key] ?? key;
    return text.replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole));
  }

  /**
   * Speak another language from now on: the whole document does, and `change` is told.
   *
   * @param {string} language
   */
  use(language) {
    this.language = language in this.#texts ? language : 'en';
    document.documentElement.lang = this.language === 'zh' ? 'zh-Hans' : this.language;
    for (const element of document.querySelectorAll('[data-word]'))
      element.textContent = this.say(/** @type {HTMLElement} */ (element).dataset.word ?? '');
    for (const element of document.querySelectorAll('[data-label]'))
      element.setAttribute('aria-label', this.say(/** @type {HTMLElement} */ (element).dataset.label ?? ''));
    for (const button of document.querySelectorAll('[data-language]')) {
      const its = /** @type {HTMLElement} */ (button).dataset.language;
      button.setAttribute('aria-pressed', String(its === this.language));
    }
    this.dispatchEvent(new Event('change'));
  }

  /** Let the buttons of the page choose, and begin with what is preferred. */
  start() {
    for (const button of document.querySelectorAll('[data-language]')) {
      button.addEventListener('click', () => {
        const language = /** @type {HTMLElement} */ (button).dataset.language ?? 'en';
        keep(language);
        this.use(language);
      });
    }
    this.use(Words.preferred());
  }
}

function kept() {
  try {
    return localStorage.getItem(KEPT);
  } catch {
    return null; // a browser that keeps nothing
  }
}

/** @param {string} language */
function keep(language) {
  try {
    localStorage.setItem(KEPT, language);
  } catch {
    // it is asked again next time
  }
}
