// A browser starts no worker for a page from the disk, and the search of the site needs one. Here the
// script of the worker runs in a hidden frame. The names are those that mkdocs-material looks for.
if (location.protocol === "file:") {
  class IFrameWorker extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.srcdoc = "<body></body>";
      const loaded = new Promise((resolve) => (this.frame.onload = resolve));
      document.body.append(this.frame);
      this.ready = loaded.then(() => {
        const inside = this.frame.contentWindow;
        inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
        inside.importScripts = async (...urls) => {
          for (const script of urls) await this.run(script);
        };
        return this.run(url);
      });
    }

    run(url) {
      const script = this.frame.contentDocument.createElement("script");
      script.src = url;
      const done = new Promise((resolve) => (script.onload = script.onerror = resolve));
      this.frame.contentDocument.body.append(script);
      return done;
    }

    postMessage(data) {
      this.ready.then(() => {
        this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
      });
    }

    terminate() {
      this.frame.remove();
    }
  }
  window.Worker = window.IFrameWorker = IFrameWorker;
}
