import Advertising
import BluetoothKernel
import Management

extension AdapterSession {
    func advertise(
        _ content: AdvertisementContent, options: AdvertisingOptions = AdvertisingOptions()
    ) async throws(BluetoothError) -> AdvertisingSet {
        try checkUsable()
        let operation = operation("advertise")
        if Task.isCancelled { throw .cancelled(operation) }
        try followAdvertising()
        let record = AdvertisingRecord(operation, on: loop)
        let id = advertising.add(content, options, record)
        // Before anybody can connect.
        offersChanged()
        do {
            try await advertisingSettles(id, operation)
        } catch {
            beginToStopAdvertising(id)
            throw error
        }
        return AdvertisingSet(id, record, self)
    }

    func removeForeignAdvertising() async throws(BluetoothError) -> Int {
        try checkUsable()
        let features = try await advertisingFeatures()
        var count = 0
        // The kernel does not list all there are, so each number is tried; it says so when there is none.
        for instance in (1...max(1, features.maximumInstances)) where !advertising.instances.contains(instance) {
            do throws(BluetoothError) {
                try await management.value.sendWhenIdle(.removeAdvertising(instance), to: information.index)
                count += 1
            } catch {
                guard error.cause == .management(.invalidParameters) else { throw error }
            }
        }
        return count
    }

    private func advertisingFeatures() async throws(BluetoothError) -> AdvertisingFeatures {
        let index = information.index
        let reply = try await management.value.sendWhenIdle(.readAdvertisingFeatures, to: index)
        guard case .advertisingFeatures(let features) = reply else {
            throw .unreadable(operation("read the advertising features"))
        }
        return features
    }

    // MARK: One set

    func updateAdvertising(
        _ id: UInt64, _ content: AdvertisementContent, _ record: AdvertisingRecord
    ) async throws(BluetoothError) {
        if case .ended(let reason) = record.standing.value { throw reason }
        guard let before = advertising[id]?.content else { throw .cancelled(record.operation) }
        advertising[id]?.content = content
        advertise(id, .resend)
        do {
            try await advertisingSettles(id, record.operation)
        } catch {
            // What was said before goes on, unless somebody has said something else meanwhile.
            if advertising[id]?.content == content {
                advertising[id]?.content = before
                // The kernel may have been told; what cannot be said at all it was not.
                if error.code != .invalidArgument { advertise(id, .resend) }
                workOffAdvertising()
            }
            throw error
        }
    }

    func stopAdvertising(_ id: UInt64) async {
        guard let record = advertising[id]?.record else { return }
        beginToStopAdvertising(id)
        // That it was stopped is no error; a cancelled task does not wait.
        try? await advertisingSettles(id, record.operation)
    }

    /// Has the kernel get rid of a set as soon as it can be told.
    func beginToStopAdvertising(_ id: UInt64) {
        guard let entry = advertising[id] else { return }
        let reason = BluetoothError(
            .cancelled, entry.record.operation, "The advertisement was stopped by this program.")
        advertise(id, .end(reason))
        workOffAdvertising()
    }

    /// Has something happen to a set, and does what follows of it.
    private func advertise(_ id: UInt64, _ input: AdvertisingProgress.Input) {
        guard var entry = advertising[id] else { return }
        let (before, instance) = (entry.progress.state, entry.progress.instance)
        let actions = entry.progress.receive(input)
        if entry.progress.state != before { entry.timer = timer(of: id, for: entry.progress) }
        advertising[id] = entry
        if entry.progress.instance != instance {
            entry.record.facts.withLock { $0.instance = entry.progress.instance }
        }
        for action in actions {
            switch action {
            case .report(let state): entry.record.standing.set(state)
            case .settle(let error):
                advertising[id]?.waiters.resolveAll(error.map { .failure($0) } ?? .success(()))
            case .end(let reason):
                entry.record.end(reason)
                advertising[id]?.waiters.failAll(reason)
                offersChanged()
            }
        }
    }

    private func timer(of id: UInt64, for progress: AdvertisingProgress) -> LoopTimer? {
        guard let limit = progress.limit else { return nil }
        let timer = loop.makeTimer { [weak self] in self?.assumeIsolated { $0.advertisingStateIsOver(id) } }
        timer.set(after: limit)
        return timer
    }

    private func advertisingStateIsOver(_ id: UInt64) {
        guard let entry = advertising[id] else { return }
        if entry.progress.state == .lost {
            let reason = BluetoothError(
                .busy, entry.record.operation, "Another program has removed the advertisement.",
                remedy: "BlueZ's daemon does so when it starts: begin after it, or stop it.", isRetryable: true)
            advertise(id, .lossExplained(reason))
        } else {
            // While there are links, the end of one is waited for.
            advertise(id, .retry(hasLinks: !localServer.connections.isEmpty))
        }
        workOffAdvertising()
    }

    /// Waits until the kernel has been told of a set.
    private func advertisingSettles(
        _ id: UInt64, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) {
        guard let call = advertising[id]?.waiters.makePromise() else { return }
        workOffAdvertising()
        try await call.value(operation, timeout: nil, on: loop)
    }

    // MARK: Telling the kernel

    /// Tells the kernel what it has to be told, one thing after the other: it is at work on one change at a time.
    private func workOffAdvertising() {
        guard advertising.worker == nil, nextAdvertisingWork != nil else { return }
        advertising.worker = Task(executorPreference: loop) { [self] in await workOff() }
    }

    private func workOff() async {
        while let work = nextAdvertisingWork { await carryOut(work) }
        advertising.worker = nil
    }

    private var nextAdvertisingWork: AdvertisingTable.Work? {
        advertising.next(isReady: end == nil && standing.value.isReady)
    }

    private func carryOut(_ work: AdvertisingTable.Work) async {
        switch work {
        case .add(let id): await add(id)
        case .remove(let id):
            if let instance = advertising[id]?.progress.instance {
                advertise(id, .use(nil))
                if standing.value.isReady { await remove(instance) } else { advertising.leftovers.insert(instance) }
            }
            var waiters = advertising[id]?.waiters
            advertising[id] = nil
            waiters?.succeedAll()
        case .removeInstance(let instance): await remove(instance)
        }
    }

    /// Removes an instance; one that is not there any more is no problem.
    private func remove(_ instance: UInt8) async {
        advertising.leftovers.remove(instance)
        do throws(BluetoothError) {
            try await management.value.sendWhenIdle(.removeAdvertising(instance), to: information.index)
        } catch {
            log.debug("\(error)")
            guard error.cause != .management(.invalidParameters), standing.value != .absent else { return }
            // It may still be on the air, or will be when the adapter is back.
            advertising.leftovers.insert(instance)
            guard standing.value.isReady else { return }
            log.warning("the kernel did not take back advertising instance \(instance): \(error)")
            let timer = loop.makeTimer { [weak self] in
                self?.assumeIsolated { adapter in
                    adapter.advertising.leftoverTimer = nil
                    adapter.workOffAdvertising()
                }
            }
            timer.set(after: AdvertisingProgress.retryInterval)
            advertising.leftoverTimer = timer
        }
    }

    private func add(_ id: UInt64) async {
        advertise(id, .beginSending)
        do throws(BluetoothError) {
            try await put(id)
            advertise(id, .sent)
        } catch {
            log.debug("\(error)")
            advertise(id, .refused(error))
        }
    }

    /// Has the kernel advertise a set, for the first time or again.
    private func put(_ id: UInt64) async throws(BluetoothError) {
        let operation = operation("advertise")
        let index = information.index
        let features = try await advertisingFeatures()
        guard let entry = advertising[id], !entry.progress.hasEnded else { return }
        let plan = try AdvertisingPlan(entry.content, entry.options, features, operation)
        let instance: UInt8
        if let own = entry.progress.instance {
            instance = own
        } else {
            instance = try freeInstance(features, operation)
        }
        advertise(id, .use(instance))
        do throws(BluetoothError) {
            let parameters = ExtendedAdvertisingInstanceParameters(
                instance: instance, flags: plan.flags, intervals: plan.intervals, transmitPower: plan.transmitPower)
            let answer = try await management.value.sendWhenIdle(
                .addExtendedAdvertisingParameters(parameters), to: index)
            guard case .extendedAdvertisingParameters(let limits) = answer else {
                throw BluetoothError.unreadable(operation)
            }
            try await management.value.sendWhenIdle(
                .addExtendedAdvertisingData(
                    ExtendedAdvertisingInstanceData(
                        instance: instance, advertisingData: plan.payloads.advertising,
                        scanResponse: plan.payloads.scanResponse)), to: index)
            let power = features.supportedFlags.contains(.canSetTransmitPower) ? Int(limits.transmitPower) : nil
            entry.record.facts.withLock { ($0.payloads, $0.transmitPower) = (plan.payloads, power) }
        } catch {
            // An instance whose change failed is not there any more, or half made.
            if advertising[id]?.progress.instance == instance {
                advertise(id, .use(nil))
                await remove(instance)
            }
            throw error
        }
    }

    private func freeInstance(
        _ features: AdvertisingFeatures, _ operation: BluetoothError.Operation
    ) throws(BluetoothError) -> UInt8 {
        // Of numbers above the number of instances the kernel lists none; the lowest that is free is below those.
        let taken = advertising.instances.union(features.instances)
        if features.maximumInstances > 0,
            let free = (1...features.maximumInstances).first(where: { !taken.contains($0) })
        {
            return free
        }
        guard features.maximumInstances > 0 else {
            throw BluetoothError(.unsupported, operation, "The adapter has no advertising instances.")
        }
        let own = advertising.instances.count
        throw BluetoothError(
            .busy, operation,
            "All \(features.maximumInstances) advertising instances of the adapter are taken, \(own) of them by this program.",
            remedy: BluetoothError.remedy(
                "Others may be left behind by a program that was killed: removeForeignAdvertising() removes them.",
                orRun: "advertise --clear"),
            isRetryable: true)
    }

    // MARK: What happens

    private func followAdvertising() throws(BluetoothError) {
        guard !advertising.isFollowing else { return }
        try management.value.follow { [weak self] notice in self?.assumeIsolated { $0.takeAdvertising(notice) } }
        advertising.isFollowing = true
    }

    private func takeAdvertising(_ notice: AdapterNotice) {
        switch notice {
        case .advertisingRemoved(information.index, let instance): advertisingRemoved(instance)
        case .connectedByPeer(information.index):
            // Which of them the device has answered is not told.
            for id in advertising.ids {
                guard let entry = advertising[id], entry.progress.hasBegun, entry.options.kind == .connectable,
                    entry.options.continuesWhileConnected
                else { continue }
                advertise(id, .resend)
            }
            workOffAdvertising()
        case .disconnected(information.index):
            for id in advertising.ids { advertise(id, .linkEnded) }
            workOffAdvertising()
        default: break
        }
    }

    /// The kernel has an instance no more. Powering off does that, before the adapter is off, and so do other programs.
    private func advertisingRemoved(_ instance: UInt8) {
        advertising.leftovers.remove(instance)
        if let id = advertising.id(of: instance) { advertise(id, .instanceRemoved) }
    }

    /// The adapter is off, blocked or away, where its instances go as well.
    func advertisingLeaves(_ reason: BluetoothError, isAbsent: Bool) {
        if isAbsent { advertising.leftovers = [] }
        advertising.leftoverTimer = nil
        for id in advertising.ids {
            let resumes = advertising[id]?.options.whenAdapterLeaves == .resume
            advertise(id, .adapterLeft(reason, isAbsent: isAbsent, resumes: resumes))
        }
        workOffAdvertising()
    }

    /// The adapter can be used again.
    func advertisingComesBack() {
        workOffAdvertising()
    }

    /// Ends everything because the adapter is being closed, and waits until the kernel knows.
    func stopAllAdvertising() async {
        for id in advertising.ids { beginToStopAdvertising(id) }
        await advertising.worker?.value
    }

    /// Ends everything without the kernel being told.
    func endAllAdvertising(_ reason: BluetoothError) {
        for id in advertising.ids { advertise(id, .end(reason)) }
        workOffAdvertising()
    }
}
